#include "backends/gpu/emit/families/tile_sort.h"

#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class TileSortEmission {
 public:
  TileSortEmission(GpuFusionEmitter& emitter, const TileSort& sort)
      : emitter_(emitter), k_(emitter.kernel()), sort_(sort) {
    for (const ElementType type : sort.types) arrays_.push_back(k_.Shared(type, sort.tile, "tile"));
    order_type_ = k_.index_type()->isIntegerTy(32) ? ElementType::kS32 : ElementType::kS64;
    order_ = k_.Shared(order_type_, sort.tile, "order");
  }

  absl::Status Emit() {
    for (int half = 0; half < 2; ++half) RETURN_IF_ERROR(Fill(Local(half)));
    k_.Barrier();
    RETURN_IF_ERROR(RunNetwork());
    for (int half = 0; half < 2; ++half) {
      llvm::Value* const local = Local(half);
      RETURN_IF_ERROR(sort_.store(local, Read(local)));
    }
    return absl::OkStatus();
  }

 private:
  llvm::Value* Local(int half) { return k_.Offset(k_.ThreadIndex(), half * k_.block_threads()); }

  absl::Status Fill(llvm::Value* local) {
    llvm::Value* const valid = sort_.valid(local);
    const auto none = [&]() -> absl::StatusOr<EmittedList> {
      constexpr uint8_t kZeros[16] = {};
      EmittedList zeros;
      for (const ElementType type : sort_.types) zeros.push_back(k_.Constant(type, kZeros));
      return zeros;
    };
    ASSIGN_OR_RETURN(const EmittedList values, k_.Guarded(
                                                   valid, [&] { return sort_.load(local); }, none));
    Write(local, values);
    // The place where it was; after all of these where there is nothing.
    llvm::Value* const order = k_.b().CreateSelect(valid, local, k_.Offset(local, sort_.tile));
    k_.StoreShared(order_, local, {order, nullptr});
    return absl::OkStatus();
  }

  EmittedList Read(llvm::Value* local) {
    EmittedList values;
    for (const SharedArray& array : arrays_) values.push_back(k_.LoadShared(array, local));
    return values;
  }
  void Write(llvm::Value* local, const EmittedList& values) {
    for (size_t i = 0; i < arrays_.size(); ++i) k_.StoreShared(arrays_[i], local, values[i]);
  }

  // for (size = 2; size <= segment; size *= 2)        runs of `size`, up and down in turns
  //   for (step = size / 2; step > 0; step /= 2)      elements `step` apart change places
  absl::Status RunNetwork() {
    int64_t steps = 0, stages = 0;
    for (int size = 2; size <= sort_.segment; size *= 2) steps += ++stages;
    const auto body = [&](llvm::Value*, const EmittedList& now) -> absl::StatusOr<EmittedList> {
      auto& b = k_.b();
      llvm::Value* const size = now[0].value;
      llvm::Value* const step = now[1].value;
      RETURN_IF_ERROR(CompareExchange(size, step));
      k_.Barrier();
      llvm::Value* const is_last = b.CreateICmpEQ(step, k_.Index(1));
      llvm::Value* const next_size = b.CreateSelect(is_last, k_.Add(size, size), size);
      llvm::Value* const next_step = b.CreateSelect(is_last, size, b.CreateLShr(step, 1));
      return EmittedList{{next_size, nullptr}, {next_step, nullptr}};
    };
    return k_
        .Loop(k_.Index(0), k_.Index(steps), k_.Index(1),
              {{k_.Index(2), nullptr}, {k_.Index(1), nullptr}}, body)
        .status();
  }

  absl::Status CompareExchange(llvm::Value* size, llvm::Value* step) {
    auto& b = k_.b();
    llvm::Value* const thread = k_.ThreadIndex();
    llvm::Value* const low_bits = b.CreateAnd(thread, k_.Offset(step, -1));
    llvm::Value* const i = k_.Add(b.CreateShl(b.CreateSub(thread, low_bits), 1), low_bits);
    llvm::Value* const j = k_.Add(i, step);
    const EmittedList x = Read(i), y = Read(j);
    const Emitted order_x = k_.LoadShared(order_, i), order_y = k_.LoadShared(order_, j);
    ASSIGN_OR_RETURN(llvm::Value* const y_first, Before(y, order_y.value, x, order_x.value));
    // Within a segment the last stage goes up everywhere.
    llvm::Value* const in_segment = b.CreateAnd(i, k_.Index(sort_.segment - 1));
    llvm::Value* const is_up = b.CreateICmpEQ(b.CreateAnd(in_segment, size), k_.Index(0));
    llvm::Value* const swap = b.CreateICmpEQ(y_first, is_up);
    for (size_t n = 0; n < arrays_.size(); ++n) {
      k_.StoreShared(arrays_[n], i, k_.Select(swap, y[n], x[n]));
      k_.StoreShared(arrays_[n], j, k_.Select(swap, x[n], y[n]));
    }
    k_.StoreShared(order_, i, k_.Select(swap, order_y, order_x));
    k_.StoreShared(order_, j, k_.Select(swap, order_x, order_y));
    return absl::OkStatus();
  }

  // A total order: equal elements keep theirs, and what is not there comes last.
  absl::StatusOr<llvm::Value*> Before(const EmittedList& a, llvm::Value* order_a,
                                      const EmittedList& c, llvm::Value* order_c) {
    auto& b = k_.b();
    ASSIGN_OR_RETURN(llvm::Value* const less, sort_.before(emitter_, a, c));
    ASSIGN_OR_RETURN(llvm::Value* const greater, sort_.before(emitter_, c, a));
    llvm::Value* const earlier = k_.Less(order_a, order_c);
    llvm::Value* const tie = b.CreateAnd(b.CreateNot(greater), earlier);
    llvm::Value* const both = k_.Less(b.CreateOr(order_a, order_c), k_.Index(sort_.tile));
    return b.CreateSelect(both, b.CreateOr(less, tie), earlier);
  }

  GpuFusionEmitter& emitter_;
  KernelBuilder& k_;
  const TileSort& sort_;
  std::vector<SharedArray> arrays_;
  ElementType order_type_;
  SharedArray order_;
};

}  // namespace

int SortTileFor(absl::Span<const ElementType> types) {
  constexpr int64_t kSharedBytes = 44 * 1024;
  constexpr int kLargest = 512, kSmallest = 2 * kWarpSize;
  int64_t bytes = sizeof(int64_t);  // of an element, with its order
  for (const ElementType type : types) bytes += ByteSize(type);
  int tile = kLargest;
  while (tile > kSmallest && bytes * tile > kSharedBytes) tile /= 2;
  return tile;
}

int SortSegmentFor(int64_t length, int tile) {
  int segment = 2;
  while (segment < length && segment < tile) segment *= 2;
  return segment;
}

absl::Status EmitTileSort(GpuFusionEmitter& emitter, const TileSort& sort) {
  return TileSortEmission(emitter, sort).Emit();
}

}  // namespace hlo::gpu
