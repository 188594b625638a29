! Groups in a cloud of points, by k-means with threads: assignment and new centres alternate; then the silhouette of a
! sample.
module groups
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: n = 60000, k = 24, dims = 4
  real(real64) :: point(dims, n), centre(dims, k)
  integer :: group(n)

contains

  ! Points around k places; each sum of uniform numbers is nearly normal.
  subroutine scatter(g)
    integer, intent(in) :: g
    integer(int64) :: seed
    integer :: i, d, draw
    seed = 100 + g
    do i = g, n, k
      do d = 1, dims
        point(d, i) = mod(g * 37 * d, 101) * 0.1_real64
        do draw = 1, 40
          seed = mod(seed * 48271_int64, 2147483647_int64)
          point(d, i) = point(d, i) + 0.1_real64 * (real(seed, real64) / 2147483647.0_real64 - 0.5_real64)
        end do
      end do
    end do
  end subroutine scatter

  subroutine assign_points()
    integer :: i, c
    real(real64) :: nearest, distance
    !$omp parallel do private(c, nearest, distance) schedule(static)
    do i = 1, n
      nearest = huge(nearest)
      do c = 1, k
        distance = sum((point(:, i) - centre(:, c))**2)
        if (distance < nearest) then
          nearest = distance
          group(i) = c
        end if
      end do
    end do
  end subroutine assign_points

  ! The centre of each group by its geometric median, one step of Weiszfeld's at a time.
  subroutine move_centres()
    integer :: i, c
    real(real64) :: weight, weights, moved(dims)
    !$omp parallel do private(i, weight, weights, moved) schedule(static)
    do c = 1, k
      weights = 0
      moved = 0
      do i = 1, n
        if (group(i) == c) then
          weight = 1 / (1e-3_real64 + sqrt(sum((point(:, i) - centre(:, c))**2)))
          weights = weights + weight
          moved = moved + weight * point(:, i)
        end if
      end do
      if (weights > 0) centre(:, c) = moved / weights
    end do
  end subroutine move_centres

  ! The mean distance from some points to all, within and outside their group.
  real(real64) function silhouette(samples) result(total)
    integer, intent(in) :: samples
    integer :: s, i, j
    real(real64) :: within, outside
    total = 0
    !$omp parallel do private(i, j, within, outside) reduction(+:total) schedule(static)
    do s = 1, samples
      i = 1 + mod(s * 97, n)
      within = 0
      outside = 0
      do j = 1, n
        if (group(j) == group(i)) then
          within = within + sqrt(sum((point(:, i) - point(:, j))**2))
        else
          outside = outside + sqrt(sum((point(:, i) - point(:, j))**2))
        end if
      end do
      total = total + 1 - within / outside
    end do
  end function silhouette

end module groups

program kmeans
  use groups
  use truth_log
  implicit none
  integer :: i
  real(real64) :: scale, total

  scale = scale_argument()
  call truth_phase('scatter')
  do i = 0, k * (1 + int(50 * scale)) - 1
    call scatter(1 + mod(i, k))
  end do
  centre = point(:, 1:k * 9:9)
  call truth_phase('cluster')
  do i = 1, 1 + int(160 * scale)
    call assign_points()
    call move_centres()
  end do
  call truth_phase('silhouette')
  total = silhouette(10 + int(16000 * scale))
  call truth_end()
  print '(a,f0.4,a,f0.4)', 'kmeans: silhouette ', total, ', centres ', sum(centre)
end program kmeans
