// rng-bit-generator: Philox4x32-10 and Threefry2x32-20, the words of lib/eval/random_bits.h. A thread
// makes one block of words and stores what falls into the array.
#include <array>

#include "backends/gpu/emit/frame.h"
#include "lib/eval/random_bits.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Word = llvm::Value*;

class RngEmission {
 public:
  RngEmission(const Instruction& rng, const Frame& frame, KernelBuilder& k)
      : rng_(rng), frame_(frame), k_(k), b_(k.b()) {
    data_ = rng.shape().IsTuple() ? rng.shape().element(1) : rng.shape();
    wide_ = BitWidth(data_.element_type()) == 64;
    state_words_ = static_cast<int>(rng.operand(0)->shape().element_count());
    key_ = StateWord(0);
  }

  absl::Status Philox(int64_t blocks) {
    const bool has_high = state_words_ == 3;
    Word const low = StateWord(1);
    Word const high = has_high ? StateWord(2) : key_;
    return ForEachBlock(blocks, [&](llvm::Value* thread) -> absl::Status {
      const auto [at_low, at_high] = Advance(low, high, b_.CreateZExtOrTrunc(thread, I64()));
      const std::array<Word, 4> words =
          PhiloxRounds({Low(at_low), High(at_low), Low(at_high), High(at_high)});
      const int per_block = wide_ ? 2 : 4;
      for (int i = 0; i < per_block; ++i) {
        llvm::Value* const place = k_.Offset(k_.Scale(thread, per_block), i);
        const auto w = static_cast<size_t>(i);
        Word const word = wide_ ? Join(words[2 * w], words[2 * w + 1]) : words[w];
        RETURN_IF_ERROR(StoreInside(place, word));
      }
      return StoreState(thread, low, high, has_high, blocks);
    });
  }

  absl::Status ThreeFry() {
    Word const counter = StateWord(1);
    const absl::Span<const int64_t> dims = data_.dims();
    const int pair = wide_ ? -1 : PairDimension(dims);
    absl::InlinedVector<int64_t, 6> half(dims.begin(), dims.end());
    if (pair >= 0) half[static_cast<size_t>(pair)] = CeilDiv(half[static_cast<size_t>(pair)], 2);
    int64_t blocks = 1;
    for (const int64_t size : half) blocks *= size;
    return ForEachBlock(blocks, [&](llvm::Value* thread) -> absl::Status {
      Word const t = b_.CreateAdd(counter, b_.CreateZExtOrTrunc(thread, I64()));
      const std::array<Word, 2> words = ThreeFryRounds({Low(t), High(t)});
      if (pair < 0) {
        RETURN_IF_ERROR(StoreInside(thread, wide_ ? Join(words[0], words[1]) : words[0]));
      } else {
        const auto p = static_cast<size_t>(pair);
        ArrayIndex::Positions at = ArrayIndex::Linear(half, thread).positions(k_);
        at[p] = k_.Scale(at[p], 2);
        StoreWord(ArrayIndex::At(dims, at).linear(k_), words[0]);
        at[p] = k_.Offset(at[p], 1);
        RETURN_IF_ERROR(k_.If(k_.Less(at[p], k_.Index(dims[p])), [&] {
          StoreWord(ArrayIndex::At(dims, at).linear(k_), words[1]);
          return absl::OkStatus();
        }));
      }
      return StoreState(thread, counter, nullptr, false, blocks);
    });
  }

 private:
  llvm::Type* I64() { return b_.getInt64Ty(); }
  llvm::Type* I32() { return b_.getInt32Ty(); }
  Word StateWord(int i) { return k_.Load(0, k_.Index(i)).value; }
  Word Low(Word x) { return b_.CreateTrunc(x, I32()); }
  Word High(Word x) { return b_.CreateTrunc(b_.CreateLShr(x, 32), I32()); }
  Word Join(Word low, Word high) {
    return b_.CreateOr(b_.CreateZExt(low, I64()), b_.CreateShl(b_.CreateZExt(high, I64()), 32));
  }
  // (low, high) + steps.
  std::pair<Word, Word> Advance(Word low, Word high, Word steps) {
    Word const sum = b_.CreateAdd(low, steps);
    Word const carry = b_.CreateZExt(b_.CreateICmpULT(sum, steps), I64());
    return {sum, b_.CreateAdd(high, carry)};
  }

  std::array<Word, 4> PhiloxRounds(std::array<Word, 4> x) {
    Word k0 = Low(key_), k1 = High(key_);
    const auto product = [&](uint64_t factor, Word w) {
      return b_.CreateMul(b_.getInt64(factor), b_.CreateZExt(w, I64()));
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

  std::array<Word, 2> ThreeFryRounds(std::array<Word, 2> x) {
    constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Word const k0 = Low(key_);
    Word const k1 = High(key_);
    const std::array<Word, 3> schedule = {
        k0, k1, b_.CreateXor(b_.CreateXor(k0, k1), b_.getInt32(0x1BD11BDA))};
    x = {b_.CreateAdd(x[0], schedule[0]), b_.CreateAdd(x[1], schedule[1])};
    for (uint32_t group = 1; group <= 5; ++group) {
      for (const uint32_t rotation : kRotations[(group - 1) % 2]) {
        x[0] = b_.CreateAdd(x[0], x[1]);
        Word const turned =
            b_.CreateIntrinsic(llvm::Intrinsic::fshl, {I32()}, {x[1], x[1], b_.getInt32(rotation)});
        x[1] = b_.CreateXor(turned, x[0]);
      }
      x[0] = b_.CreateAdd(x[0], schedule[group % 3]);
      x[1] = b_.CreateAdd(b_.CreateAdd(x[1], schedule[(group + 1) % 3]), b_.getInt32(group));
    }
    return x;
  }

  absl::Status ForEachBlock(int64_t blocks, const std::function<absl::Status(llvm::Value*)>& body) {
    llvm::Value* const thread =
        k_.Add(k_.Scale(k_.BlockIndex(), k_.block_threads()), k_.ThreadIndex());
    return k_.If(k_.Less(thread, k_.Index(blocks)), [&] { return body(thread); });
  }

  absl::Status StoreInside(llvm::Value* place, Word word) {
    return k_.If(k_.Less(place, k_.Index(data_.element_count())), [&] {
      StoreWord(place, word);
      return absl::OkStatus();
    });
  }

  // Narrow types keep the low bits of a word.
  void StoreWord(llvm::Value* place, Word word) {
    llvm::Type* const type = cpu::tile::RegisterType(b_.getContext(), data_.element_type());
    Word const cut = b_.CreateTrunc(word, b_.getIntNTy(type->getPrimitiveSizeInBits()));
    k_.Store(frame_.outputs.back().buffer, place, {b_.CreateBitCast(cut, type), nullptr});
  }

  // The state after `blocks` blocks, by the first thread.
  absl::Status StoreState(llvm::Value* thread, Word low, Word high, bool has_high, int64_t blocks) {
    if (!rng_.shape().IsTuple()) return absl::OkStatus();
    return k_.If(b_.CreateICmpEQ(thread, k_.Index(0)), [&] {
      const int buffer = frame_.outputs[0].buffer;
      Word const steps = b_.getInt64(static_cast<uint64_t>(blocks));
      const auto [next_low, next_high] =
          Advance(low, high == nullptr ? b_.getInt64(0) : high, steps);
      k_.Store(buffer, k_.Index(0), {key_, nullptr});
      k_.Store(buffer, k_.Index(1), {next_low, nullptr});
      if (has_high) k_.Store(buffer, k_.Index(2), {next_high, nullptr});
      return absl::OkStatus();
    });
  }

  const Instruction& rng_;
  const Frame& frame_;
  KernelBuilder& k_;
  llvm::IRBuilder<>& b_;
  Shape data_;
  bool wide_ = false;
  int state_words_ = 0;
  Word key_ = nullptr;
};

}  // namespace

Decision CanMakeBits(const Instruction& rng) {
  const Shape state = rng.operand(0)->shape();
  const Shape data = rng.shape().IsTuple() ? rng.shape().element(1) : rng.shape();
  const bool three_fry = rng.attrs<RngBitGeneratorAttrs>().algorithm == RngAlgorithm::kThreeFry;
  if (state.element_type() != ElementType::kU64 || state.rank() != 1 ||
      !(state.element_count() == 2 || (!three_fry && state.element_count() == 3)))
    return No("its state is {}", state);
  const ElementType type = data.element_type();
  if (IsPred(type) || IsComplex(type) || IsSubByte(type)) return No("it makes {}", data);
  return Yes();
}

absl::Status EmitRngBitGenerator(const Instruction& rng, const Frame& frame, KernelPlan& plan) {
  plan.family = "rng";
  const Shape data = rng.shape().IsTuple() ? rng.shape().element(1) : rng.shape();
  const bool three_fry = rng.attrs<RngBitGeneratorAttrs>().algorithm == RngAlgorithm::kThreeFry;
  const int64_t count = data.element_count();
  if (count == 0) return Unsupported(rng.loc(), "platform `gpu` makes no empty random array yet");
  const int64_t blocks = CeilDiv(count, BitWidth(data.element_type()) == 64 ? 2 : 4);
  // Threefry has a thread for up to every element; those beyond its blocks do nothing.
  return AddSimpleKernel(frame, three_fry ? count : blocks, plan,
                         [&](FusedEmitter&, KernelBuilder& k) {
                           RngEmission emission(rng, frame, k);
                           return three_fry ? emission.ThreeFry() : emission.Philox(blocks);
                         });
}

}  // namespace hlo::gpu
