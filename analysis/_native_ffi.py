# auto-generated file
import _cffi_backend

ffi = _cffi_backend.FFI('incprof.analysis._native_ffi',
    _version = 0x2601,
    _types = b'\x00\x00\x02\x0D\x00\x00\x00\x0F\x00\x00\x03\x03\x00\x00\x02\x01',
    _globals = (b'\x00\x00\x00\x23incprof_native_version',0,),
)
