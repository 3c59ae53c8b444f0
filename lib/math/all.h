// lib/math/all.h
//
// Every function of lib/math, for the users that turn an opcode into a call.
#pragma once

#include "lib/math/complex.h"
#include "lib/math/convert.h"
#include "lib/math/erf_gamma.h"
#include "lib/math/exp_log.h"
#include "lib/math/hyperbolic.h"
#include "lib/math/integer.h"
#include "lib/math/random.h"
#include "lib/math/roots_of_unity.h"
#include "lib/math/roots_powers.h"
#include "lib/math/rounding.h"
#include "lib/math/trig.h"
