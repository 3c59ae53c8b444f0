#include "backends/gpu/emit/random_words.h"

namespace hlo::gpu {

Word RandomWords::Join(Word low, Word high) const {
  llvm::Type* const wide = b_.getInt64Ty();
  return b_.CreateOr(b_.CreateZExt(low, wide), b_.CreateShl(b_.CreateZExt(high, wide), 32));
}

std::pair<Word, Word> RandomWords::Advance(Word low, Word high, Word steps) const {
  Word const sum = b_.CreateAdd(low, steps);
  Word const carry = b_.CreateZExt(b_.CreateICmpULT(sum, steps), b_.getInt64Ty());
  return {sum, b_.CreateAdd(high, carry)};
}

std::array<Word, 4> RandomWords::Philox(Word low, Word high, Word key) const {
  std::array<Word, 4> x = {Low(low), High(low), Low(high), High(high)};
  Word k0 = Low(key), k1 = High(key);
  const auto product = [&](uint64_t factor, Word w) {
    return b_.CreateMul(b_.getInt64(factor), b_.CreateZExt(w, b_.getInt64Ty()));
  };
  for (int round = 0; round < 10; ++round) {
    Word const p0 = product(0xD2511F53, x[0]);
    Word const p1 = product(0xCD9E8D57, x[2]);
    x = {b_.CreateXor(b_.CreateXor(High(p1), x[1]), k0), Low(p1),
         b_.CreateXor(b_.CreateXor(High(p0), x[3]), k1), Low(p0)};
    k0 = b_.CreateAdd(k0, b_.getInt32(0x9E3779B9));
    k1 = b_.CreateAdd(k1, b_.getInt32(0xBB67AE85));
  }
  return x;
}

std::array<Word, 2> RandomWords::ThreeFry(Word counter, Word key) const {
  constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Word const k0 = Low(key);
  Word const k1 = High(key);
  const std::array<Word, 3> schedule = {
      k0, k1, b_.CreateXor(b_.CreateXor(k0, k1), b_.getInt32(0x1BD11BDA))};
  std::array<Word, 2> x = {b_.CreateAdd(Low(counter), schedule[0]),
                           b_.CreateAdd(High(counter), schedule[1])};
  for (uint32_t group = 1; group <= 5; ++group) {
    for (const uint32_t rotation : kRotations[(group - 1) % 2]) {
      x[0] = b_.CreateAdd(x[0], x[1]);
      Word const turned = b_.CreateIntrinsic(llvm::Intrinsic::fshl, {b_.getInt32Ty()},
                                             {x[1], x[1], b_.getInt32(rotation)});
      x[1] = b_.CreateXor(turned, x[0]);
    }
    x[0] = b_.CreateAdd(x[0], schedule[group % 3]);
    x[1] = b_.CreateAdd(b_.CreateAdd(x[1], schedule[(group + 1) % 3]), b_.getInt32(group));
  }
  return x;
}

}  // namespace hlo::gpu
