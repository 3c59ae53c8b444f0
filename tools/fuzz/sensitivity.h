// How much the results of a module may differ between platforms that compute it right.
//
// Elementwise operations agree bit by bit on all of them. Sums do not: the order of additions is
// the platform's business, and what is done with a sum afterwards may enlarge a difference without
// limit (a comparison, a quotient by something near zero). So nothing is guessed from the
// operations: the interpreter computes the module again with a little noise added after everything
// that may be rounded in another way, and what moves tells how far results may lie apart.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/support/denormals.h"
#include "lib/types/literal.h"
#include "tools/support/equivalence.h"

namespace hlo {

// A run with noise may take this many times the work of one without.
inline constexpr int64_t kWorkOfNoise = 8;

struct NoiseOptions {
  EquivalenceOptions limits;
  Denormals denormals = Denormals::kKeep;
  // Reductions take their elements in any order, which shows where the reducer is not associative
  // and commutative: among equal elements it may choose by their place.
  bool reorders = false;
  // Arithmetic and functions are rounded in another way, too, not only sums and the like.
  bool everywhere = false;
  // Nothing is rounded in another way, but zeros may have another sign.
  bool only_zeros = false;
  // Many more runs: a comparison may come out as before in several by chance.
  bool thorough = false;
  // Runs a module with the arguments; by default the interpreter does, on one device.
  std::function<absl::StatusOr<Literal>(const Module&)> run = nullptr;
};

// What noise does to the results of a module.
struct Noise {
  std::vector<Literal> runs;  // the results of each run
  // Floats are cut into elements of another width: what noise moves is any number, near to none.
  bool cuts_bits = false;
};

// The results of `module` with noise: several runs, each with other noise. None when nothing in the
// module may be rounded in another way; runs that fail are left out.
Noise NoisyRuns(const Module& module, const std::vector<Literal>& arguments,
                const NoiseOptions& options);

// "" when every element of `actual` is that of `expected`, or as near as the noisy runs say; else
// what differs. NaN is NaN whatever its bits; zeros are equal.
std::string DifferenceBeyondNoise(const Literal& actual, const Literal& expected,
                                  const Noise& noise);

}  // namespace hlo
