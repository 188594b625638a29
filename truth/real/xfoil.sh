# shellcheck shell=sh
# XFOIL, the panel method for airfoils, driven by a file of commands: first many airfoils without viscosity, one angle of attack
# each; then one airfoil with boundary layers, over many angles. The window library is replaced by functions that do nothing.
# shellcheck disable=SC2034,SC2154
package=xfoil

build() {
    (cd plotlib && gfortran -c gw_subs.f && nm -u gw_subs.o | awk '/gwx/ { print "void " $2 "(void) {}" }' >Xwin2.c)
    FFLAGS=$flags
    CFLAGS=$flags
    export FFLAGS CFLAGS
    make -C plotlib
    make -C bin FC="gfortran -pg -std=legacy" CHK= PLTLIB= OSOBJ=frplot0.o INSTALLCMD=: xfoil
}

# airfoils of 4 digits, then NACA 2412 at a Reynolds number of three millions
input() {
    awk 'BEGIN {
        print "plop\ng f\n\nnaca 2412\nppar\nn 350\n\n"
        for (n = 0; n < 400; n++)
            print "naca", 100 * (10 * (n % 7) + 2 + n % 5) + 8 + n % 13 "\noper\nalfa", n % 9 "\n"
        print "naca 2412\noper\nvisc 3e6\niter 40\naseq -3 9 0.06\n\nquit"
    }' >commands
}

run() {
    recorded "$tree/bin/xfoil" <"$data/commands"
}
