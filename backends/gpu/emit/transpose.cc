// Transposes that move the minor-most dimension: tiles of 32 x 32 words go through shared memory, so
// that reads and writes both run along memory. A word is an element, or 4 bytes of narrower ones.
//
//   block (batch, i, j):   read operand rows  -> tile (a word wider: no bank conflicts) -> barrier
//                          write result rows, which are the tile's columns
#include <algorithm>

#include "backends/gpu/emit/frame.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

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
absl::StatusOr<EmittedList> ElementsFrom(FusedEmitter& emitter, const Instruction& value,
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

}  // namespace

absl::StatusOr<bool> EmitTranspose(const Instruction& fusion, const Frame& frame,
                                   KernelPlan& plan) {
  const Instruction* const root = RootOf(fusion);
  if (root->opcode() != Opcode::kTranspose || root->shape().IsZeroSized()) return false;
  const Instruction* const operand = root->operand(0);
  const DimVec& order = root->attrs<TransposeAttrs>().dimensions;
  const absl::Span<const int64_t> dims = operand->shape().dims();
  // Minor-most dimensions (larger than 1) of the operand and of the result, as operand dimensions.
  int64_t read_dim = -1, write_dim = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] > 1) read_dim = static_cast<int64_t>(d);
    if (dims[static_cast<size_t>(order[d])] > 1) write_dim = order[d];
  }
  if (read_dim < 0 || read_dim == write_dim) return false;
  const int64_t columns = dims[static_cast<size_t>(read_dim)];
  const int64_t rows = dims[static_cast<size_t>(write_dim)];
  if (columns < kTileWords / 2 || rows < kTileWords / 2) return false;
  const ElementType type = operand->shape().element_type();
  const int lanes = LanesOf(type, rows, columns);
  const int tile_size = kTileWords * lanes;
  absl::InlinedVector<int64_t, 6> batch_dims(dims.begin(), dims.end());
  batch_dims[static_cast<size_t>(read_dim)] = batch_dims[static_cast<size_t>(write_dim)] = 1;
  int64_t batch = 1;
  for (const int64_t size : batch_dims) batch *= size;
  const int64_t column_tiles = CeilDiv(columns, tile_size);
  const int64_t row_tiles = CeilDiv(rows, tile_size);
  plan.family = "transpose";
  const auto body = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
    const int line = tile_size + lanes;
    const SharedArray tile = k.Shared(type, int64_t{tile_size} * line, "tile");
    llvm::Value* const x = k.Scale(k.Rem(k.ThreadIndex(), kTileWords), lanes);
    llvm::Value* const y = k.Div(k.ThreadIndex(), kTileWords);
    llvm::Value* const column0 = k.Scale(k.Rem(k.BlockIndex(), column_tiles), tile_size);
    llvm::Value* const rest = k.Div(k.BlockIndex(), column_tiles);
    llvm::Value* const row0 = k.Scale(k.Rem(rest, row_tiles), tile_size);
    const auto outer = ArrayIndex::Linear(batch_dims, k.Div(rest, row_tiles)).positions(k);
    const auto at = [&](llvm::Value* row, llvm::Value* column) {
      ArrayIndex::Positions positions = outer;
      positions[static_cast<size_t>(read_dim)] = column;
      positions[static_cast<size_t>(write_dim)] = row;
      return positions;
    };
    const auto inside = [&](llvm::Value* row, llvm::Value* column) {
      return k.b().CreateAnd(k.Less(row, k.Index(rows)), k.Less(column, k.Index(columns)));
    };
    // Words are whole: their first element says whether all are inside.
    for (int step = 0; step < tile_size; step += kTileRows) {
      llvm::Value* const tile_row = k.Offset(y, step);
      llvm::Value* const row = k.Add(row0, tile_row);
      llvm::Value* const column = k.Add(column0, x);
      RETURN_IF_ERROR(k.If(inside(row, column), [&]() -> absl::Status {
        ASSIGN_OR_RETURN(
            const EmittedList values,
            ElementsFrom(emitter, *operand, ArrayIndex::At(dims, at(row, column)), lanes));
        for (int i = 0; i < lanes; ++i) {
          k.StoreShared(tile, k.Offset(k.Add(k.Scale(tile_row, line), x), i),
                        values[static_cast<size_t>(i)]);
        }
        return absl::OkStatus();
      }));
    }
    k.Barrier();
    for (int step = 0; step < tile_size; step += kTileRows) {
      llvm::Value* const tile_column = k.Offset(y, step);
      llvm::Value* const row = k.Add(row0, x);
      llvm::Value* const column = k.Add(column0, tile_column);
      RETURN_IF_ERROR(k.If(inside(row, column), [&] {
        EmittedList values;
        for (int i = 0; i < lanes; ++i) {
          llvm::Value* const tile_row = k.Scale(k.Offset(x, i), line);
          values.push_back(k.LoadShared(tile, k.Add(tile_row, tile_column)));
        }
        const ArrayIndex::Positions from = at(row, column);
        ArrayIndex::Positions to;
        for (const int64_t d : order) to.push_back(from[static_cast<size_t>(d)]);
        llvm::Value* const place = ArrayIndex::At(root->shape().dims(), to).linear(k);
        if (lanes == 1) {
          k.Store(frame.outputs[0].buffer, place, values[0]);
        } else {
          k.StoreVector(frame.outputs[0].buffer, place, values);
        }
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  };
  constexpr int kThreads = kTileWords * kTileRows;
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kThreads, 0, plan, body));
  AddLaunch(frame, kernel, column_tiles * row_tiles * batch, kThreads, {}, plan);
  return true;
}

}  // namespace hlo::gpu
