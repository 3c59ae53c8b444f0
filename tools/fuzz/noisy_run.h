// One run with noise: what stands in the place of each value that may be rounded in another way.
#pragma once

#include <cstdint>

#include "lib/ir/instruction.h"
#include "tools/fuzz/random.h"

namespace hlo {

// Whether elements of the type are wide enough to be moved a little.
bool HasNoise(ElementType type);

// What is smaller may be flushed to zero; floats under 32 bits are computed in f32.
double SmallestNormal(ElementType type);

// Far above the rounding of one sum of a few thousand terms.
double NoiseOf(ElementType type);

// How one run differs from the others.
struct NoisyRun {
  enum class Kind {
    kNoise,
    kGrid,       // numbers snap to it
    kMixture,    // some do, others get noise
    kVanishing,  // sums vanish where noise may let them; with a negative `sign` at random
    kZeros,      // zeros all have the sign `sign`
    kBits,      // what a platform likes: the signs of NaNs, and with a positive `sign` no denormals
    kExpanded,  // statistics are sums that may overflow before they are divided, padding is zeros
  };
  Kind kind;
  FuzzRandom random;
  double sign;
  bool everywhere;  // not only where sums and the like may round in another way
  // Of kBits, from element to element. Rising and falling ones order each two NaNs both ways.
  enum class Nans {
    kOneSign,
    kRandomSigns,
    kAlternatingSigns,
    kRisingBits,
    kFallingBits,
    kRandomBits
  };
  Nans nans = Nans::kRandomSigns;
  bool varies = false;       // of kNoise: of very different sizes
  bool signs_zeros = false;  // of kGrid: what cancels leaves zeros of the sign `sign`
  // Of kNoise: complex numbers that lie within noise of the real axis lie on the side of `sign` of
  // it, where a function reads them that has a cut there.
  bool takes_sides = false;
  bool expands = false;  // of kNoise: as kExpanded, with noise in what statistics become
};

// What the run puts in the place of an array or of each element of a tuple; the value itself where
// it stays. New instructions stand in the computation of the value.
Instruction* Moved(Instruction* value, NoisyRun& run);

// Of two values that a run of kVanishing compares, the first, with the elements of the second where
// the two lie no farther apart than noise: rounded in another way they may be equal.
Instruction* Met(Instruction* x, Instruction* y, NoisyRun& run);

// The complex `x`, beside the real axis where it lies within noise of it.
Instruction* BesideAxis(Instruction* x, double sign);

}  // namespace hlo
