// lib/linalg/lapack_library.h
//
// The LAPACK of this machine, loaded when something needs it first. OpenBLAS is preferred, any
// other one serves. Calls run in the calling thread alone: whoever has several matrices shares them
// out himself, and results do not depend on the number of processors.
#pragma once

#include <string>
#include <string_view>

namespace hlo::linalg {

// The address of a routine by its Fortran name without the underscore ("sgesdd"); null if there is
// no LAPACK or it lacks the routine.
const void* FindLapackRoutine(std::string_view name);

// What to do about a missing LAPACK, as the end of a message.
std::string_view LapackAdvice();

// The core whose code OpenBLAS takes ("SkylakeX"); empty without OpenBLAS.
std::string LapackCore();

}  // namespace hlo::linalg
