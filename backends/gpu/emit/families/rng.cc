// rng-bit-generator: the words of lib/math/random.h as lib/eval/random_bits.h lays them out. A
// thread makes one block of words and stores what falls into the array.
#include "backends/gpu/emit/core/frame.h"
#include "backends/llvm/value.h"
#include "lib/eval/random_bits.h"
#include "lib/math/random.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

using Word = math::LlvmValue<uint64_t>;

class RngEmission {
 public:
  RngEmission(const Instruction& rng, const GpuFrame& frame, KernelBuilder& k)
      : rng_(rng), frame_(frame), k_(k), b_(k.b()) {
    data_ = rng.shape().IsTuple() ? rng.shape().element(1) : rng.shape();
    wide_ = BitWidth(data_.element_type()) == 64;
    state_words_ = static_cast<int>(rng.operand(0)->shape().element_count());
    key_ = StateWord(0);
  }

  absl::Status EmitPhilox(int64_t blocks) {
    const bool has_high = state_words_ == 3;
    const Word low = StateWord(1);
    const Word high = has_high ? StateWord(2) : key_;
    return ForEachBlock(blocks, [&](llvm::Value* thread) -> absl::Status {
      const auto [at_low, at_high] = math::Advance(low, high, Wide(thread));
      const auto words = math::PhiloxBlock(at_low, at_high, key_);
      const int per_block = wide_ ? 2 : 4;
      for (int i = 0; i < per_block; ++i) {
        llvm::Value* const place = k_.Offset(k_.Scale(thread, per_block), i);
        const auto w = static_cast<size_t>(i);
        RETURN_IF_ERROR(StoreInside(
            place, wide_ ? math::JoinWord(words[2 * w], words[2 * w + 1]).v : words[w].v));
      }
      return StoreState(thread, low, high, has_high, blocks);
    });
  }

  absl::Status EmitThreeFry() {
    const Word counter = StateWord(1);
    const absl::Span<const int64_t> dims = data_.dims();
    const int pair = wide_ ? -1 : PairDimension(dims);
    absl::InlinedVector<int64_t, 6> half(dims.begin(), dims.end());
    if (pair >= 0) half[static_cast<size_t>(pair)] = CeilDiv(half[static_cast<size_t>(pair)], 2);
    int64_t blocks = 1;
    for (const int64_t size : half) blocks *= size;
    return ForEachBlock(blocks, [&](llvm::Value* thread) -> absl::Status {
      const auto words = math::ThreeFryBlock(math::Add(counter, Wide(thread)), key_);
      if (pair < 0) {
        RETURN_IF_ERROR(
            StoreInside(thread, wide_ ? math::JoinWord(words[0], words[1]).v : words[0].v));
      } else {
        const auto p = static_cast<size_t>(pair);
        ArrayIndex::Positions at = ArrayIndex::Linear(half, thread).positions(k_);
        at[p] = k_.Scale(at[p], 2);
        StoreWord(ArrayIndex::At(dims, at).linear(k_), words[0].v);
        at[p] = k_.Offset(at[p], 1);
        RETURN_IF_ERROR(k_.If(k_.Less(at[p], k_.Index(dims[p])), [&] {
          StoreWord(ArrayIndex::At(dims, at).linear(k_), words[1].v);
          return absl::OkStatus();
        }));
      }
      return StoreState(thread, counter, Number(0), false, blocks);
    });
  }

 private:
  Word Wide(llvm::Value* x) { return {&b_, b_.CreateZExtOrTrunc(x, b_.getInt64Ty())}; }
  Word Number(int64_t x) { return {&b_, b_.getInt64(static_cast<uint64_t>(x))}; }
  Word StateWord(int i) { return {&b_, k_.Load(0, k_.Index(i)).value}; }

  absl::Status ForEachBlock(int64_t blocks, const std::function<absl::Status(llvm::Value*)>& body) {
    llvm::Value* const thread =
        k_.Add(k_.Scale(k_.BlockIndex(), k_.block_threads()), k_.ThreadIndex());
    return k_.If(k_.Less(thread, k_.Index(blocks)), [&] { return body(thread); });
  }

  absl::Status StoreInside(llvm::Value* place, llvm::Value* word) {
    return k_.If(k_.Less(place, k_.Index(data_.element_count())), [&] {
      StoreWord(place, word);
      return absl::OkStatus();
    });
  }

  // Narrow types keep the low bits of a word.
  void StoreWord(llvm::Value* place, llvm::Value* word) {
    llvm::Type* const type = RegisterType(b_.getContext(), data_.element_type());
    llvm::Value* const cut = b_.CreateTrunc(word, b_.getIntNTy(type->getPrimitiveSizeInBits()));
    k_.Store(frame_.outputs.back().buffer, place, {b_.CreateBitCast(cut, type), nullptr});
  }

  // The state after `blocks` blocks, by the first thread.
  absl::Status StoreState(llvm::Value* thread, Word low, Word high, bool has_high, int64_t blocks) {
    if (!rng_.shape().IsTuple()) return absl::OkStatus();
    return k_.If(b_.CreateICmpEQ(thread, k_.Index(0)), [&] {
      const int buffer = frame_.outputs[0].buffer;
      const auto [next_low, next_high] = math::Advance(low, high, Number(blocks));
      k_.Store(buffer, k_.Index(0), {key_.v, nullptr});
      k_.Store(buffer, k_.Index(1), {next_low.v, nullptr});
      if (has_high) k_.Store(buffer, k_.Index(2), {next_high.v, nullptr});
      return absl::OkStatus();
    });
  }

  const Instruction& rng_;
  const GpuFrame& frame_;
  KernelBuilder& k_;
  llvm::IRBuilder<>& b_;
  Shape data_;
  bool wide_ = false;
  int state_words_ = 0;
  Word key_ = {nullptr, nullptr};
};

}  // namespace

Decision TakesRngBitGenerator(const Instruction& rng) {
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

absl::Status EmitRngBitGenerator(const FamilyRequest& request) {
  const Instruction& rng = request.root;
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "rng";
  const Shape data = rng.shape().IsTuple() ? rng.shape().element(1) : rng.shape();
  const bool three_fry = rng.attrs<RngBitGeneratorAttrs>().algorithm == RngAlgorithm::kThreeFry;
  const int64_t count = data.element_count();
  if (count == 0) return Unsupported(rng.loc(), "platform `gpu` makes no empty random array yet");
  const int64_t blocks = CeilDiv(count, BitWidth(data.element_type()) == 64 ? 2 : 4);
  // Threefry has a thread for up to every element; those beyond its blocks do nothing.
  return AddSimpleKernel(frame, three_fry ? count : blocks, plan,
                         [&](GpuFusionEmitter&, KernelBuilder& k) {
                           RngEmission emission(rng, frame, k);
                           return three_fry ? emission.EmitThreeFry() : emission.EmitPhilox(blocks);
                         });
}

}  // namespace hlo::gpu
