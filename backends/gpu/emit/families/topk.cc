// topk. Blocks sort tiles of a row in shared memory (tile_sort.h) and keep the first k of each,
// until a row fits one tile. For a k that this does not shrink, rows are sorted. Equal elements
// keep their order; floats are in total order.
#include <algorithm>

#include "backends/gpu/emit/families/sort.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

class TopKEmission {
 public:
  TopKEmission(const Instruction& topk, GpuFrame& frame, KernelPlan& plan)
      : frame_(frame),
        plan_(plan),
        type_(topk.operand(0)->shape().element_type()),
        k_(topk.attrs<TopKAttrs>().k),
        largest_(topk.attrs<TopKAttrs>().largest),
        length_(topk.operand(0)->shape().dims().back()),
        rows_(topk.operand(0)->shape().element_count() / length_),
        index_type_(length_ < int64_t{1} << 31 ? ElementType::kS32 : ElementType::kS64) {
    types_ = {type_, index_type_};
    tile_ = SortTileFor(types_);
  }

  absl::Status Emit() {
    if (length_ > tile_ && k_ > tile_ / 2) return EmitBySorting();
    // Arrays of a level: values, and where they were in their row.
    std::vector<int> from = {0, kPositions};
    for (int64_t length = length_;;) {
      const bool is_last = length <= tile_;
      const int64_t tiles = CeilDiv(length, tile_);
      const int64_t kept =
          is_last ? k_ : (tiles - 1) * k_ + std::min(k_, length - (tiles - 1) * tile_);
      std::vector<int> to;
      for (const ElementType type : types_)
        to.push_back(is_last ? -1 : frame_.AddScratch(plan_, type, rows_ * kept));
      RETURN_IF_ERROR(AddLevel(length, kept, from, to));
      if (is_last) return absl::OkStatus();
      from = to;
      length = kept;
    }
  }

 private:
  // Whether `a` is larger than `b` (smaller, if the smallest are wanted).
  ComesBefore Ahead() const {
    return [this](GpuFusionEmitter& emitter, const EmittedList& a,
                  const EmittedList& b) -> absl::StatusOr<llvm::Value*> {
      const ElementOp compare = {
          Opcode::kCompare,
          ElementType::kPred,
          {.direction = largest_ ? ComparisonDirection::kGt : ComparisonDirection::kLt,
           .comparison = ComparisonType::kTotalOrder}};
      return EmitElement(emitter.kernel().b(), kGpuConversions, compare, {type_, type_},
                         {a[0], b[0]})
          .value;
    };
  }

  void StoreResult(GpuFusionEmitter& emitter, llvm::Value* place, const EmittedList& values) const {
    KernelBuilder& k = emitter.kernel();
    k.Store(frame_.outputs[0].buffer, place, values[0]);
    k.Store(frame_.outputs[1].buffer, place,
            emitter.Convert(values[1], index_type_, frame_.outputs[1].shape.element_type()));
  }

  // Keeps the first k of each tile: `kept` of the `length` elements of a row. `to`: -1
  // for the result.
  absl::Status AddLevel(int64_t length, int64_t kept, const std::vector<int>& from,
                        const std::vector<int>& to) {
    const int segment = SortSegmentFor(length, tile_);
    const int64_t tiles = CeilDiv(length, segment);  // of a row
    const int64_t blocks = CeilDiv(rows_ * tiles * segment, tile_);
    const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) {
      struct Place {
        llvm::Value *row, *tile, *local, *position;
      };
      const auto place_of = [&](llvm::Value* local) {
        llvm::Value* const all = k.Add(k.Scale(k.BlockIndex(), tile_), local);
        llvm::Value* const number = k.Div(all, segment);
        Place place = {k.Div(number, tiles), k.Rem(number, tiles), k.Rem(all, segment), nullptr};
        place.position = k.Add(k.Scale(place.tile, segment), place.local);
        return place;
      };
      const auto is_inside = [&](const Place& place) {
        return k.b().CreateAnd(k.Less(place.row, k.Index(rows_)),
                               k.Less(place.position, k.Index(length)));
      };
      TileSort sort;
      sort.tile = tile_;
      sort.segment = segment;
      sort.types = types_;
      sort.before = Ahead();
      sort.valid = [&](llvm::Value* local) { return is_inside(place_of(local)); };
      sort.load = [&](llvm::Value* local) -> absl::StatusOr<EmittedList> {
        const Place place = place_of(local);
        llvm::Value* const element = k.Add(k.Scale(place.row, length), place.position);
        return EmittedList{k.Load(from[0], element),
                           from[1] == kPositions ? PositionAs(k, index_type_, place.position)
                                                 : k.Load(from[1], element)};
      };
      sort.store = [&](llvm::Value* local, const EmittedList& values) {
        const Place place = place_of(local);
        llvm::Value* const is_kept =
            k.b().CreateAnd(is_inside(place), k.Less(place.local, k.Index(k_)));
        return k.If(is_kept, [&] {
          llvm::Value* const target =
              k.Add(k.Scale(place.row, kept), k.Add(k.Scale(place.tile, k_), place.local));
          if (to[0] < 0) {
            StoreResult(emitter, target, values);
          } else {
            for (size_t i = 0; i < to.size(); ++i) k.Store(to[i], target, values[i]);
          }
          return absl::OkStatus();
        });
      };
      return EmitTileSort(emitter, sort);
    };
    GpuFrame wider = frame_;
    wider.largest = std::max(frame_.largest, blocks * tile_);
    ASSIGN_OR_RETURN(const int kernel, AddKernel(wider, tile_ / 2, 0, plan_, body));
    AddLaunch(wider, kernel, blocks, tile_ / 2, {}, plan_);
    return absl::OkStatus();
  }

  absl::Status EmitBySorting() {
    MergeSort merge;
    merge.length = length_;
    merge.count = rows_ * length_;
    merge.types = types_;
    merge.before = Ahead();
    std::vector<int> sorted, between;
    for (std::vector<int>* arrays : {&sorted, &between}) {
      for (const ElementType type : types_)
        arrays->push_back(frame_.AddScratch(plan_, type, merge.count));
    }
    RETURN_IF_ERROR(AddMergeSort(merge, frame_, {0, kPositions}, sorted, between, plan_));
    return AddSimpleKernel(
        frame_, rows_ * k_, plan_,
        [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
          llvm::Value* const thread =
              k.Add(k.Scale(k.BlockIndex(), k.block_threads()), k.ThreadIndex());
          return k.If(k.Less(thread, k.Index(rows_ * k_)), [&] {
            llvm::Value* const from = k.Add(k.Scale(k.Div(thread, k_), length_), k.Rem(thread, k_));
            StoreResult(emitter, thread, {k.Load(sorted[0], from), k.Load(sorted[1], from)});
            return absl::OkStatus();
          });
        });
  }

  GpuFrame& frame_;
  KernelPlan& plan_;
  ElementType type_;
  int64_t k_;
  bool largest_;
  int64_t length_, rows_;
  ElementType index_type_;
  std::vector<ElementType> types_;
  int tile_ = 0;
};

}  // namespace

Decision TakesTopK(const Instruction& topk) {
  const Shape operand = topk.operand(0)->shape();
  if (!IsComplex(operand.element_type()) && !topk.shape().has_dynamic_dims()) return Yes();
  return No("it sorts {}", operand);
}

absl::Status EmitTopK(const FamilyRequest& request) {
  const Instruction& topk = request.root;
  GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "topk";
  if (topk.operand(0)->shape().element_count() == 0 || topk.attrs<TopKAttrs>().k == 0)
    return absl::OkStatus();
  return TopKEmission(topk, frame, plan).Emit();
}

}  // namespace hlo::gpu
