// The short form of asynchronous operations, `slice-start(x), slice={[0:4]}`, and when it may be
// printed. It writes no wrapped computation: a reader makes one from the word, the attributes and
// the shapes of the chain. For every opcode that may be wrapped the word has one meaning; whether a
// reader makes the same computation as the one at hand depends on the whole chain.
#pragma once

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/computation.h"
#include "lib/ir/printer.h"

namespace hlo {

// The computation of an `async-start` that prints in its short form: it holds nothing but its root
// and parameters. XLA looks no further; the text may then stand for another module, unless
// `options.lossless`. Null when the chain prints in the generic form.
const Computation* SugaredComputation(const Instruction& start, const PrintOptions& options);

// The computations of a module in the order in which they print, each with its instructions in that
// order; those without a line of their own left out.
struct PrintedComputation {
  const Computation* computation;
  std::vector<const Instruction*> instructions;
};

// Of the starts that would print in the short form, those whose computations, once a reader has
// made them, take names that the text gives to others. `order` holds every computation.
absl::flat_hash_set<const Instruction*> StartsThatTakeNames(
    const std::vector<PrintedComputation>& order, const PrintOptions& options);

}  // namespace hlo
