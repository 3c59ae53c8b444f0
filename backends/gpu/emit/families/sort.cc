// sort: stable merge sort. Blocks sort tiles in shared memory (tile_sort.h); sorted runs are then
// merged pairwise by one launch for each doubling: every element finds its place in the merged run
// by a binary search of its neighbour run, so any comparator and any number of operands will do.
//
//   place of left[i]  = i + number of right elements that come before it:  right < left[i]
//   place of right[j] = j + number of left elements that do not come after: not right[j] < left
#include "backends/gpu/emit/families/sort.h"

#include <algorithm>

#include "backends/gpu/emit/families/tile_sort.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

class SortEmission {
 public:
  SortEmission(const MergeSort& sort, const std::vector<int>& from, const std::vector<int>& to,
               GpuFusionEmitter& emitter)
      : sort_(sort), from_(from), to_(to), emitter_(emitter), k_(emitter.kernel()) {}

  // One element per thread; integer 0 is the length of sorted runs.
  absl::Status Emit() {
    llvm::Value* const thread =
        k_.Add(k_.Scale(k_.BlockIndex(), k_.block_threads()), k_.ThreadIndex());
    return k_.If(k_.Less(thread, k_.Index(sort_.count)), [&]() -> absl::Status {
      // thread = (outer * length + position) * stride + inner
      llvm::Value* const inner = k_.Rem(thread, sort_.stride);
      llvm::Value* const rest = k_.Div(thread, sort_.stride);
      llvm::Value* const position = k_.Rem(rest, sort_.length);
      llvm::Value* const line =
          k_.Add(k_.Scale(k_.Div(rest, sort_.length), sort_.length * sort_.stride), inner);
      return EmitPlace(line, position);
    });
  }

 private:
  llvm::Value* Least(llvm::Value* a, llvm::Value* b) {
    return k_.b().CreateSelect(k_.Less(a, b), a, b);
  }
  llvm::Value* At(llvm::Value* line, llvm::Value* position) {
    return k_.Add(line, k_.Scale(position, sort_.stride));
  }
  EmittedList LoadAll(llvm::Value* place) {
    EmittedList values;
    for (const int buffer : from_) values.push_back(k_.Load(buffer, place));
    return values;
  }
  absl::Status EmitPlace(llvm::Value* line, llvm::Value* position) {
    auto& b = k_.b();
    llvm::Value* const run = k_.Integer(0);
    llvm::Value* const pair = k_.Add(run, run);
    llvm::Value* const start = k_.Sub(position, b.CreateURem(position, pair));
    llvm::Value* const middle = Least(k_.Add(start, run), k_.Index(sort_.length));
    llvm::Value* const end = Least(k_.Add(start, pair), k_.Index(sort_.length));
    llvm::Value* const is_left = k_.Less(position, middle);
    // The other run: [low, high).
    llvm::Value* const other = b.CreateSelect(is_left, middle, start);
    llvm::Value* const other_end = b.CreateSelect(is_left, end, middle);
    const EmittedList mine = LoadAll(At(line, position));
    ASSIGN_OR_RETURN(llvm::Value* const found, Search(line, mine, is_left, other, other_end));
    llvm::Value* const own_start = b.CreateSelect(is_left, start, middle);
    // Both runs' parts before it, from the pair's start.
    llvm::Value* const place =
        k_.Add(start, k_.Add(k_.Sub(position, own_start), k_.Sub(found, other)));
    llvm::Value* const target = At(line, place);
    for (size_t i = 0; i < to_.size(); ++i) k_.Store(to_[i], target, mine[i]);
    return absl::OkStatus();
  }

  // The first position in [low, high) of the line whose element does not go before mine.
  absl::StatusOr<llvm::Value*> Search(llvm::Value* line, const EmittedList& mine,
                                      llvm::Value* is_left, llvm::Value* low, llvm::Value* high) {
    auto& b = k_.b();
    // Enough halvings for any run; a finished search stands still.
    int64_t steps = 1;
    while ((int64_t{1} << steps) <= sort_.length) ++steps;
    const auto halve = [&](llvm::Value*, const EmittedList& range) -> absl::StatusOr<EmittedList> {
      llvm::Value* const lo = range[0].value;
      llvm::Value* const hi = range[1].value;
      const auto look = [&]() -> absl::StatusOr<EmittedList> {
        llvm::Value* const mid = b.CreateLShr(k_.Add(lo, hi), 1);
        const EmittedList theirs = LoadAll(At(line, mid));
        // Left elements count what is strictly before them, right ones what is not after them.
        EmittedList first, second;
        for (size_t i = 0; i < mine.size(); ++i) {
          first.push_back(k_.Select(is_left, theirs[i], mine[i]));
          second.push_back(k_.Select(is_left, mine[i], theirs[i]));
        }
        ASSIGN_OR_RETURN(llvm::Value* const less, sort_.before(emitter_, first, second));
        llvm::Value* const goes_before = b.CreateXor(less, b.CreateNot(is_left));
        return EmittedList{{b.CreateSelect(goes_before, k_.Offset(mid, 1), lo), nullptr},
                           {b.CreateSelect(goes_before, hi, mid), nullptr}};
      };
      return k_.Guarded(k_.Less(lo, hi), look,
                        [&]() -> absl::StatusOr<EmittedList> { return range; });
    };
    ASSIGN_OR_RETURN(const EmittedList done, k_.Loop(k_.Index(0), k_.Index(steps), k_.Index(1),
                                                     {{low, nullptr}, {high, nullptr}}, halve));
    return done[0].value;
  }

  const MergeSort& sort_;
  const std::vector<int>& from_;
  const std::vector<int>& to_;
  GpuFusionEmitter& emitter_;
  KernelBuilder& k_;
};

// The places of a block's elements in lines.
class LineTiles {
 public:
  explicit LineTiles(const MergeSort& sort)
      : sort_(sort),
        tile_(SortTileFor(sort.types)),
        segment_(SortSegmentFor(sort.length, tile_)),
        tiles_(CeilDiv(sort.length, segment_)),
        lines_(sort.count / sort.length) {}

  int tile() const { return tile_; }
  int segment() const { return segment_; }
  int64_t blocks() const { return CeilDiv(lines_ * tiles_ * segment_, tile_); }
  struct Place {
    llvm::Value *line, *position;
  };
  // Segments of all lines one after the other.
  Place Of(KernelBuilder& k, llvm::Value* local) const {
    llvm::Value* const all = k.Add(k.Scale(k.BlockIndex(), tile_), local);
    llvm::Value* const tile = k.Div(all, segment_);
    return {k.Div(tile, tiles_),
            k.Add(k.Scale(k.Rem(tile, tiles_), segment_), k.Rem(all, segment_))};
  }
  llvm::Value* IsInside(KernelBuilder& k, const Place& place) const {
    return k.b().CreateAnd(k.Less(place.line, k.Index(lines_)),
                           k.Less(place.position, k.Index(sort_.length)));
  }
  // The element's number in the arrays.
  llvm::Value* Element(KernelBuilder& k, const Place& place) const {
    llvm::Value* const inner = k.Rem(place.line, sort_.stride);
    llvm::Value* const outer = k.Div(place.line, sort_.stride);
    return k.Add(k.Add(k.Scale(outer, sort_.length * sort_.stride), inner),
                 k.Scale(place.position, sort_.stride));
  }

 private:
  const MergeSort& sort_;
  int tile_, segment_;
  int64_t tiles_, lines_;
};

absl::Status AddTiles(const MergeSort& sort, const GpuFrame& frame, const std::vector<int>& from,
                      const std::vector<int>& to, KernelPlan& plan) {
  const LineTiles tiles(sort);
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
    TileSort tile;
    tile.tile = tiles.tile();
    tile.segment = tiles.segment();
    tile.types = sort.types;
    tile.before = sort.before;
    tile.valid = [&](llvm::Value* local) { return tiles.IsInside(k, tiles.Of(k, local)); };
    tile.load = [&](llvm::Value* local) -> absl::StatusOr<EmittedList> {
      const LineTiles::Place place = tiles.Of(k, local);
      llvm::Value* const element = tiles.Element(k, place);
      EmittedList values;
      for (size_t i = 0; i < from.size(); ++i) {
        values.push_back(from[i] == kPositions ? PositionAs(k, sort.types[i], place.position)
                                               : k.Load(from[i], element));
      }
      return values;
    };
    tile.store = [&](llvm::Value* local, const EmittedList& values) {
      const LineTiles::Place place = tiles.Of(k, local);
      return k.If(tiles.IsInside(k, place), [&] {
        llvm::Value* const element = tiles.Element(k, place);
        for (size_t i = 0; i < to.size(); ++i) k.Store(to[i], element, values[i]);
        return absl::OkStatus();
      });
    };
    return EmitTileSort(emitter, tile);
  };
  // What is after the last element is counted, too.
  GpuFrame wider = frame;
  wider.largest = std::max(frame.largest, tiles.blocks() * tiles.tile());
  ASSIGN_OR_RETURN(const int kernel, AddKernel(wider, tiles.tile() / 2, 0, plan, body));
  AddLaunch(wider, kernel, tiles.blocks(), tiles.tile() / 2, {}, plan);
  return absl::OkStatus();
}

}  // namespace

Emitted PositionAs(KernelBuilder& k, ElementType type, llvm::Value* position) {
  llvm::Type* const integer = k.b().getIntNTy(static_cast<unsigned>(BitWidth(type)));
  return {k.b().CreateZExtOrTrunc(position, integer), nullptr};
}

int64_t MergePasses(const MergeSort& sort) {
  const int64_t tile = SortTileFor(sort.types);
  int64_t passes = 0;
  while (tile << passes < sort.length) ++passes;
  return passes;
}

absl::Status AddMergeSort(const MergeSort& sort, const GpuFrame& frame,
                          const std::vector<int>& from, const std::vector<int>& to,
                          const std::vector<int>& scratch, KernelPlan& plan) {
  constexpr int kThreads = 128;
  const int64_t blocks = CeilDiv(sort.count, kThreads);
  const int64_t passes = MergePasses(sort);
  const int64_t tile = SortTileFor(sort.types);
  // Pass p reads where pass p - 1, or the tiles, wrote; the last one writes the results.
  RETURN_IF_ERROR(AddTiles(sort, frame, from, passes % 2 == 0 ? to : scratch, plan));
  int kernels[2] = {-1, -1};  // into the scratch memory, into the results
  for (int64_t p = 0; p < passes; ++p) {
    const bool into_results = (passes - 1 - p) % 2 == 0;
    int& kernel = kernels[into_results ? 1 : 0];
    if (kernel < 0) {
      ASSIGN_OR_RETURN(kernel, AddKernel(frame, kThreads, 1, plan,
                                         [&](GpuFusionEmitter& emitter, KernelBuilder&) {
                                           return SortEmission(sort, into_results ? scratch : to,
                                                               into_results ? to : scratch, emitter)
                                               .Emit();
                                         }));
    }
    AddLaunch(frame, kernel, blocks, kThreads, {tile << p}, plan);
  }
  return absl::OkStatus();
}

Decision TakesSort(const Instruction& sort) {
  return IsScalarRegion(*sort.to_apply()) ? HasStaticOperands(sort)
                                          : No("the comparator is more than scalar arithmetic");
}

absl::Status EmitSort(const FamilyRequest& request) {
  const Instruction& sort = request.root;
  GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "sort";
  const Shape shape = sort.operand(0)->shape();
  const int d = static_cast<int>(sort.attrs<SortAttrs>().dimensions.value);
  MergeSort merge;
  merge.length = shape.dim(d);
  merge.count = shape.element_count();
  for (int i = d + 1; i < shape.rank(); ++i) merge.stride *= shape.dim(i);
  merge.before = [&sort](GpuFusionEmitter& emitter, const EmittedList& a,
                         const EmittedList& b) -> absl::StatusOr<llvm::Value*> {
    EmittedList arguments;
    for (size_t i = 0; i < a.size(); ++i) {
      arguments.push_back(a[i]);
      arguments.push_back(b[i]);
    }
    ASSIGN_OR_RETURN(const EmittedList result, emitter.EmitRegion(*sort.to_apply(), arguments));
    return result[0].value;
  };
  if (merge.count == 0) return absl::OkStatus();
  std::vector<int> operands, results, scratch;
  for (int i = 0; i < sort.operand_count(); ++i) {
    merge.types.push_back(sort.operand(i)->shape().element_type());
    operands.push_back(i);
    results.push_back(frame.operand_buffers + i);
  }
  if (MergePasses(merge) > 0) {
    for (const ElementType type : merge.types)
      scratch.push_back(frame.AddScratch(plan, type, merge.count));
  }
  return AddMergeSort(merge, frame, operands, results, scratch, plan);
}

}  // namespace hlo::gpu
