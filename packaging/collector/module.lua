-- Lmod: module use PLACE/share/modulefiles; module load incprof
help([[Records which phases a -pg program goes through: incprof-record -- ./app]])
whatis("Name: incprof collector")
whatis("Version: @VERSION@")
whatis("Description: Interval profiles of -pg programs, and heartbeats of their phases")

local root = myFileName():gsub("/share/modulefiles/incprof/[^/]*$", "")
setenv("INCPROF_ROOT", root)
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("LD_LIBRARY_PATH", pathJoin(root, "lib"))
prepend_path("LIBRARY_PATH", pathJoin(root, "lib"))
prepend_path("CPATH", pathJoin(root, "include"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", root)
