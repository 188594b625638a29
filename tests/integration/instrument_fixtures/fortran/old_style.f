C     Fixed form as it was written.  What ticks is named behind a mark.
* Another comment, RETURN
      PROGRAM OLD                                                       @old
      USE TICKS
      IMPLICIT INTEGER (A-Z)
      COMMON /ALL/ SUM
      CALL TICK('old')
      SUM = 0
      CALL FIRST(5, *10, *20)
      SUM = SUM + 1000
   10 CALL FIRST(7, *20, *20)
   20 DO 30 I = 1, 4
         CALL FALLS(I)
   30 CONTINUE
      X = THIRD(3) + FOURTH(4)
      CALL TABS(X)
      DO 10 I = 1.5
      PRINT *, SUM, X
      CALL REPORT
      STOP
      END
C
      SUBROUTINE FIRST(N,                                               @first
C     between the lines of a statement
     1                 *, *)
      USE TICKS
      INTEGER N, I, J, SUM
      COMMON /ALL/ SUM
      CHARACTER*30 TEXT
      DATA TEXT /'IT''S A STRING ! RETURN'/
 9000 FORMAT (3X, 14HDON'T RETURN (, I5)
      CALL TICK('first')
      DO 10 I = 1, N                                                    @outer
      CALL TICK('outer')
         IF (I .EQ. 2)                                                  00000100
     $      GO                                                          00000110
     $      TO 10
         DO 20 J = 1, I                                                 @inner
            CALL TICK('inner')
            IF (J .EQ. 3) GOTO 20
            IF (J .EQ. 4) GO TO 30
            SUM = SUM + J
            IF (SUM .GT. 20) GO TO 10
   20    CONTINUE
   10 SUM = SUM + 1
   30 IF (N .EQ. 5) RETURN 1                                            sequence
      IF (N .EQ. 6) THEN
         RETURN
      ENDIF
      DO 50 I = 1, 3
      DO 50 J = 1, 3                                                    @shared
      CALL TICK('shared')
      IF (J .EQ. I) GO TO 50
      IF (J - 2) 40, 40, 45
   40 SUM = SUM + I
   45 SUM = SUM + 1
   50 CONTINUE
      DO60I=1,3                                                         @joined
      CALLTICK('joined')
      IF(I.EQ.2)GOTO60
      SUM=SUM+I
60    CONTINUE
      RE
     &TURN
      END
C     A function with statement functions, and its end with a label.
      INTEGER FUNCTION THIRD(N)                                         @third
      USE TICKS
      INTEGER F, X, N, A(3)
      F(X) = X * X
      A(1) = 4
      CALL TICK('third')
      THIRD = F(N) + A(1)
      IF (THIRD .GT. 3) GOTO 99
      THIRD = 0
   99 END

      INTEGER FUNCTION FOURTH(N)                                        @fourth
      USE TICKS
      INTEGER N, FIFTH
      CALL TICK('fourth')
      FOURTH = N
      GOTO 10
      ENTRY FIFTH(N)
      FIFTH = 2 * N
   10 RETURN
      END FUNCTION

      SUBROUTINE FALLS(N)
      USE TICKS
      INTEGER N, SUM
      COMMON /ALL/ SUM
      SUM = SUM + N
      ENTRY INTO(N)
      SUM = SUM + N
      END
C	Tabs instead of blanks
	SUBROUTINE TABS(N) ! @tabs
	USE TICKS
	INTEGER N
	CALL TICK('tabs')
	DO 10 I = 1, 3 ! @tabbed
	  CALL TICK('tabbed')
	  IF (I .EQ. 2 .AND.
	1     N .GT. 0) GOTO 10
	  IF (I .EQ. 3 .AND. N .GT. 0) RETURN
	  N = N + I
10	CONTINUE
	END
