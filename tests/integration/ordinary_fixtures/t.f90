print *, 1
stop 3
end
