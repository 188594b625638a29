# Where a program's build finds libappekg: pkg-config and CMake files. They lie below the library's directory and name
# everything relative to themselves, so that an installation can be moved.
install(TARGETS appekg appekg_static EXPORT appekgTargets
  LIBRARY DESTINATION ${APPEKG_LIBDIR} ARCHIVE DESTINATION ${APPEKG_LIBDIR})
install(FILES include/appekg.h DESTINATION ${APPEKG_INCLUDEDIR})
install(FILES fortran/appekg.f90 fortran/appekg_fortran.h DESTINATION ${APPEKG_FORTRANDIR})

# CMake: find_package(appekg), then appekg::appekg or appekg::appekg_static.
set(generated ${CMAKE_CURRENT_BINARY_DIR}/cmake/appekg)
write_basic_package_version_file(${generated}/appekgConfigVersion.cmake COMPATIBILITY SameMajorVersion)
configure_file(cmake/appekgConfig.cmake ${generated}/appekgConfig.cmake COPYONLY)
install(FILES ${generated}/appekgConfig.cmake ${generated}/appekgConfigVersion.cmake
  DESTINATION ${APPEKG_LIBDIR}/cmake/appekg)
install(EXPORT appekgTargets NAMESPACE appekg:: DESTINATION ${APPEKG_LIBDIR}/cmake/appekg)

# pkg-config, relative to the file's own directory.
file(RELATIVE_PATH include_from_lib "/${APPEKG_LIBDIR}" "/${APPEKG_INCLUDEDIR}")
file(RELATIVE_PATH fortran_from_lib "/${APPEKG_LIBDIR}" "/${APPEKG_FORTRANDIR}")
set(pc_libdir "\${pcfiledir}/..")
set(pc_includedir "\${libdir}/${include_from_lib}")
set(pc_fortrandir "\${libdir}/${fortran_from_lib}")
configure_file(cmake/appekg.pc.in install/appekg.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/install/appekg.pc DESTINATION ${APPEKG_LIBDIR}/pkgconfig)

# The same for the build directory as it is.
export(EXPORT appekgTargets NAMESPACE appekg:: FILE ${generated}/appekgTargets.cmake)
set(pc_includedir ${CMAKE_CURRENT_SOURCE_DIR}/include)
set(pc_fortrandir ${CMAKE_CURRENT_SOURCE_DIR}/fortran)
configure_file(cmake/appekg.pc.in pkgconfig/appekg.pc @ONLY)
