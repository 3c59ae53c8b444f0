// Transposes that move the minor-most dimension: tiles of 32 x 32 words go through shared
// memory, so that reads and writes both run along memory. A word is an element, or 4 bytes
// of narrower ones.
//
//   block (batch, i, j):   read operand rows  -> tile (a word wider: no bank conflicts) -> barrier
//                          write result rows, which are the tile's columns
#include <algorithm>
#include <optional>

#include "backends/gpu/emit/families/loops.h"
#include "lib/support/round.h"
#include "lib/support/status.h"
#include "passes/fusion/kernel_support.h"

namespace hlo::gpu {
namespace {

constexpr int kTileWords = 32;
constexpr int kTileRows = 8;  // of threads

// Elements of a word: as many as rows and columns are multiples of.
int LanesOf(ElementType type, int64_t rows, int64_t columns) {
  constexpr int kWordBytes = 4;
  int lanes = std::max(1, kWordBytes / ByteSize(type));
  while (rows % lanes != 0 || columns % lanes != 0) lanes /= 2;
  return lanes;
}

// Elements of `value` from `index` on, a multiple of how many they are.
absl::StatusOr<EmittedList> ElementsFrom(GpuFusionEmitter& emitter, const Instruction& value,
                                         const ArrayIndex& index, int lanes) {
  EmittedList elements;
  if (lanes == 1) {
    ASSIGN_OR_RETURN(const Emitted one, emitter.Emit(&value, index));
    return EmittedList{one};
  }
  KernelBuilder& k = emitter.kernel();
  std::vector<llvm::Value*> places;
  for (int i = 0; i < lanes; ++i) places.push_back(k.Offset(index.linear(k), i));
  emitter.SetVector(places, value.shape().element_count());
  for (llvm::Value* place : places) {
    ASSIGN_OR_RETURN(const Emitted one,
                     emitter.Emit(&value, ArrayIndex::Linear(value.shape().dims(), place)));
    elements.push_back(one);
  }
  emitter.SetVector({}, 0);
  return elements;
}

// A transpose as tiles of its two minor-most dimensions, those of the operand and of the result,
// and a batch of all others. Dimensions are those of the operand.
struct Tiling {
  const Instruction* root;
  int64_t read_dim = -1, write_dim = -1;
  int64_t rows = 0, columns = 0;
  int lanes = 1;  // elements of a word
  absl::InlinedVector<int64_t, 6> batch_dims;
  int64_t batch = 1;

  const Instruction& operand() const { return *root->operand(0); }
  int size() const { return kTileWords * lanes; }  // of a tile's side
  int64_t column_tiles() const { return CeilDiv(columns, size()); }
  int64_t row_tiles() const { return CeilDiv(rows, size()); }
};

// None where the minor-most dimension stays or tiles would be mostly empty.
std::optional<Tiling> TilingOf(const Instruction* root) {
  if (root->opcode() != Opcode::kTranspose || root->shape().IsZeroSized()) return std::nullopt;
  Tiling t{root};
  const DimVec& order = root->attrs<TransposeAttrs>().dimensions;
  const absl::Span<const int64_t> dims = t.operand().shape().dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] > 1) t.read_dim = static_cast<int64_t>(d);
    if (dims[static_cast<size_t>(order[d])] > 1) t.write_dim = order[d];
  }
  if (t.read_dim < 0 || t.read_dim == t.write_dim) return std::nullopt;
  t.columns = dims[static_cast<size_t>(t.read_dim)];
  t.rows = dims[static_cast<size_t>(t.write_dim)];
  if (t.columns < kTileWords / 2 || t.rows < kTileWords / 2) return std::nullopt;
  t.lanes = LanesOf(root->shape().element_type(), t.rows, t.columns);
  t.batch_dims.assign(dims.begin(), dims.end());
  t.batch_dims[static_cast<size_t>(t.read_dim)] = t.batch_dims[static_cast<size_t>(t.write_dim)] =
      1;
  for (const int64_t size : t.batch_dims) t.batch *= size;
  return t;
}

// The kernel's body: a block reads and writes one tile.
class TileEmitter final {
 public:
  TileEmitter(const Tiling& tiling, GpuFusionEmitter& emitter)
      : t_(tiling),
        emitter_(emitter),
        k_(emitter.kernel()),
        line_(t_.size() + t_.lanes),
        tile_(k_.Shared(t_.root->shape().element_type(), int64_t{t_.size()} * line_, "tile")) {
    x_ = k_.Scale(k_.Rem(k_.ThreadIndex(), kTileWords), t_.lanes);
    y_ = k_.Div(k_.ThreadIndex(), kTileWords);
    column0_ = k_.Scale(k_.Rem(k_.BlockIndex(), t_.column_tiles()), t_.size());
    llvm::Value* const rest = k_.Div(k_.BlockIndex(), t_.column_tiles());
    row0_ = k_.Scale(k_.Rem(rest, t_.row_tiles()), t_.size());
    outer_ = ArrayIndex::Linear(t_.batch_dims, k_.Div(rest, t_.row_tiles())).positions(k_);
  }

  absl::Status Read() {
    for (int step = 0; step < t_.size(); step += kTileRows) {
      llvm::Value* const tile_row = k_.Offset(y_, step);
      llvm::Value* const row = k_.Add(row0_, tile_row);
      llvm::Value* const column = k_.Add(column0_, x_);
      RETURN_IF_ERROR(k_.If(IsInside(row, column), [&]() -> absl::Status {
        const auto from = ArrayIndex::At(t_.operand().shape().dims(), At(row, column));
        ASSIGN_OR_RETURN(const EmittedList values,
                         ElementsFrom(emitter_, t_.operand(), from, t_.lanes));
        for (int i = 0; i < t_.lanes; ++i) {
          k_.StoreShared(tile_, k_.Offset(k_.Add(k_.Scale(tile_row, line_), x_), i),
                         values[static_cast<size_t>(i)]);
        }
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

  absl::Status Write(int buffer) {
    for (int step = 0; step < t_.size(); step += kTileRows) {
      llvm::Value* const tile_column = k_.Offset(y_, step);
      llvm::Value* const row = k_.Add(row0_, x_);
      llvm::Value* const column = k_.Add(column0_, tile_column);
      RETURN_IF_ERROR(k_.If(IsInside(row, column), [&] {
        EmittedList values;
        for (int i = 0; i < t_.lanes; ++i) {
          llvm::Value* const tile_row = k_.Scale(k_.Offset(x_, i), line_);
          values.push_back(k_.LoadShared(tile_, k_.Add(tile_row, tile_column)));
        }
        const ArrayIndex::Positions from = At(row, column);
        ArrayIndex::Positions to;
        for (const int64_t d : t_.root->attrs<TransposeAttrs>().dimensions)
          to.push_back(from[static_cast<size_t>(d)]);
        llvm::Value* const place = ArrayIndex::At(t_.root->shape().dims(), to).linear(k_);
        if (t_.lanes == 1) {
          k_.Store(buffer, place, values[0]);
        } else {
          k_.StoreVector(buffer, place, values);
        }
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

 private:
  ArrayIndex::Positions At(llvm::Value* row, llvm::Value* column) const {
    ArrayIndex::Positions positions = outer_;
    positions[static_cast<size_t>(t_.read_dim)] = column;
    positions[static_cast<size_t>(t_.write_dim)] = row;
    return positions;
  }
  // Words are whole: their first element says whether all are inside.
  llvm::Value* IsInside(llvm::Value* row, llvm::Value* column) {
    return k_.b().CreateAnd(k_.Less(row, k_.Index(t_.rows)), k_.Less(column, k_.Index(t_.columns)));
  }

  const Tiling& t_;
  GpuFusionEmitter& emitter_;
  KernelBuilder& k_;
  int line_;  // a word longer than a row: no bank conflicts
  SharedArray tile_;
  llvm::Value *x_, *y_, *column0_, *row0_;
  ArrayIndex::Positions outer_;
};

}  // namespace

Decision TakesTranspose(const Instruction& transpose) { return IsKernelOp(transpose); }

absl::Status EmitTranspose(const FamilyRequest& request) {
  const std::optional<Tiling> tiling = TilingOf(RootOf(request.instruction));
  if (!tiling.has_value()) return EmitLoops(request);
  const GpuFrame& frame = request.frame;
  KernelPlan& plan = request.plan;
  plan.family = "transpose";
  const auto body = [&](GpuFusionEmitter& emitter, KernelBuilder& k) -> absl::Status {
    TileEmitter tile(*tiling, emitter);
    RETURN_IF_ERROR(tile.Read());
    k.Barrier();
    return tile.Write(frame.outputs[0].buffer);
  };
  constexpr int kThreads = kTileWords * kTileRows;
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kThreads, 0, plan, body));
  AddLaunch(frame, kernel, tiling->column_tiles() * tiling->row_tiles() * tiling->batch, kThreads,
            {}, plan);
  return absl::OkStatus();
}

}  // namespace hlo::gpu
