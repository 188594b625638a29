/* Heartbeats as macros, for Fortran sources that go through the preprocessor (.F90, or -cpp): compiled with -DEKG_OFF
 * nothing is left of them, not even the use of the module. One to a line, after #include "appekg_fortran.h":
 *
 *   program solver
 *     EKG_USE
 *     implicit none
 *     EKG_BEGIN(1)
 */
#ifndef APPEKG_FORTRAN_H
#define APPEKG_FORTRAN_H

#ifdef EKG_OFF
#define EKG_USE
#define EKG_INIT()
#define EKG_FINALIZE()
#define EKG_BEGIN(id)
#define EKG_END(id)
#define EKG_PULSE(id)
#define EKG_NAME(id, name)
#define EKG_RATE(id, factor)
#define EKG_ENABLE()
#define EKG_DISABLE()
#else
#define EKG_USE use appekg
#define EKG_INIT() call ekg_init()
#define EKG_FINALIZE() call ekg_finalize()
#define EKG_BEGIN(id) call ekg_begin(id)
#define EKG_END(id) call ekg_end(id)
#define EKG_PULSE(id) call ekg_pulse(id)
#define EKG_NAME(id, name) call ekg_name(id, name)
#define EKG_RATE(id, factor) call ekg_rate(id, factor)
#define EKG_ENABLE() call ekg_enable()
#define EKG_DISABLE() call ekg_disable()
#endif

#endif
