// backends/gpu/emit/random_words.h
//
// The rounds of the counter-based generators as code; the words are those of lib/eval/random_bits.h.
// Internal to this folder: includes LLVM headers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <utility>

namespace hlo::gpu {

// Values of 32 and 64 bits.
using Word = llvm::Value*;

class RandomWords {
 public:
  explicit RandomWords(llvm::IRBuilder<>& b) : b_(b) {}

  Word Low(Word x) const { return b_.CreateTrunc(x, b_.getInt32Ty()); }
  Word High(Word x) const { return Low(b_.CreateLShr(x, 32)); }
  Word Join(Word low, Word high) const;
  // (low, high) + steps, of 64 bits each.
  std::pair<Word, Word> Advance(Word low, Word high, Word steps) const;

  // Philox4x32-10 at counter (low, high).
  std::array<Word, 4> Philox(Word low, Word high, Word key) const;
  // Threefry2x32-20 at `counter`.
  std::array<Word, 2> ThreeFry(Word counter, Word key) const;

 private:
  llvm::IRBuilder<>& b_;
};

}  // namespace hlo::gpu
