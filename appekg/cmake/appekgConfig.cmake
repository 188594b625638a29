# Targets: appekg::appekg (shared), appekg::appekg_static.
include("${CMAKE_CURRENT_LIST_DIR}/appekgTargets.cmake")
