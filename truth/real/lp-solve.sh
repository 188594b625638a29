# shellcheck shell=sh disable=SC2034,SC2154  # sourced by record.sh, which reads and sets the variables
# lp_solve: a facility location problem, its relaxation and then branch and bound until a solution is good enough.
package=lp-solve

# The list of files is the one of lpsolve55/ccc and lp_solve/ccc, with the COLAMD that lies beside them.
build() {
    bfp=bfp/bfp_LUSOL
    # shellcheck disable=SC2086  # the flags are words
    gcc $flags -w -I. -Ishared -Ibfp -I$bfp -I$bfp/LUSOL -Icolamd -DYY_NEVER_INTERACTIVE -DPARSER_LP \
        -DINVERSE_ACTIVE=INVERSE_LUSOL -DRoleIsExternalInvEngine -o lp_solve/lp_solve lp_solve/lp_solve.c \
        lp_MDO.c shared/commonlib.c shared/mmio.c shared/myblas.c ini.c fortify.c colamd/colamd.c lp_rlp.c lp_crash.c \
        $bfp/lp_LUSOL.c $bfp/LUSOL/lusol.c lp_Hash.c lp_lib.c lp_wlp.c lp_matrix.c lp_mipbb.c lp_MPS.c lp_params.c \
        lp_presolve.c lp_price.c lp_pricePSE.c lp_report.c lp_scale.c lp_simplex.c lp_SOS.c lp_utils.c yacc_read.c \
        -lm -ldl
}

# Which of 60 places are opened, and who of 320 customers is served from where; all numbers are remainders.
input() {
    LC_ALL=C awk -v places=60 -v customers=320 'BEGIN {
        for (i = 1; i <= places; i++) { ix[i] = i * 7919 % 1009; iy[i] = i * 104729 % 997 }
        for (j = 1; j <= customers; j++) {
            jx[j] = j * 1299709 % 1009; jy[j] = j * 15485863 % 997; demand[j] = 10 + j * 611953 % 41
        }
        printf "min: "
        for (i = 1; i <= places; i++) {
            printf "+%d y%d\n", 9000 + i * 746773 % 4001, i
            for (j = 1; j <= customers; j++)
                printf "+%d x%d_%d\n", int(sqrt((ix[i] - jx[j]) ^ 2 + (iy[i] - jy[j]) ^ 2) * demand[j] / 10), i, j
        }
        print ";"
        for (j = 1; j <= customers; j++) {
            for (i = 1; i <= places; i++) printf "+x%d_%d ", i, j
            print "= 1;"
        }
        for (i = 1; i <= places; i++) {
            for (j = 1; j <= customers; j++) printf "+%d x%d_%d ", demand[j], i, j
            printf "-%d y%d <= 0;\n", 260 + i * 350377 % 181, i
        }
        for (i = 1; i <= places; i++) for (j = 1; j <= customers; j++) printf "x%d_%d - y%d <= 0;\n", i, j, i
        for (i = 1; i <= places; i++) printf "y%d <= 1;\n", i
        printf "int y1"
        for (i = 2; i <= places; i++) printf ",y%d", i
        print ";"
    }' >facilities.lp
}

# Branch and bound stops at the first solution below 348000. The exit status is the answer: 1 says that there may be better ones.
run() {
    recorded sh -c '"$0" "$@"; [ $? -eq 1 ]' "$tree/lp_solve/lp_solve" -S1 -o 348000 "$data/facilities.lp"
}
