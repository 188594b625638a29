#%Module1.0
# environment-modules: module use PLACE/share/modulefiles; module load incprof
module-whatis "Interval profiles of -pg programs, and heartbeats of their phases (@VERSION@)"
proc ModulesHelp {} {
    puts stderr "Records which phases a -pg program goes through: incprof-record -- ./app"
}

set root [file dirname [file dirname [file dirname [file dirname [file normalize $ModulesCurrentModulefile]]]]]
setenv INCPROF_ROOT $root
prepend-path PATH $root/bin
prepend-path LD_LIBRARY_PATH $root/lib
prepend-path LIBRARY_PATH $root/lib
prepend-path CPATH $root/include
prepend-path PKG_CONFIG_PATH $root/lib/pkgconfig
prepend-path CMAKE_PREFIX_PATH $root
