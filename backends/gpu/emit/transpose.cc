// Transposes that move the minor-most dimension: tiles of 32 x 32 elements go through shared memory,
// so that reads and writes both run along memory.
//
//   block (batch, i, j):   read operand rows  -> tile (33 columns: no bank conflicts) -> barrier
//                          write result rows, which are the tile's columns
#include "backends/gpu/emit/frame.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kTile = 32;
constexpr int kTileRows = 8;  // of threads

}  // namespace

absl::StatusOr<bool> EmitTranspose(const Instruction& fusion, const Frame& frame,
                                   KernelPlan& plan) {
  const Instruction* const root = RootOf(fusion);
  if (root->opcode() != Opcode::kTranspose) return false;
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
  if (columns < kTile / 2 || rows < kTile / 2) return false;
  absl::InlinedVector<int64_t, 6> batch_dims(dims.begin(), dims.end());
  batch_dims[static_cast<size_t>(read_dim)] = batch_dims[static_cast<size_t>(write_dim)] = 1;
  int64_t batch = 1;
  for (const int64_t size : batch_dims) batch *= size;
  const int64_t column_tiles = CeilDiv(columns, kTile);
  const int64_t row_tiles = CeilDiv(rows, kTile);
  plan.family = "transpose";
  const auto body = [&](FusedEmitter& emitter, KernelBuilder& k) -> absl::Status {
    const SharedArray tile = k.Shared(operand->shape().element_type(), kTile * (kTile + 1), "tile");
    llvm::Value* const x = k.Rem(k.ThreadIndex(), kTile);
    llvm::Value* const y = k.Div(k.ThreadIndex(), kTile);
    llvm::Value* const column0 = k.Scale(k.Rem(k.BlockIndex(), column_tiles), kTile);
    llvm::Value* const rest = k.Div(k.BlockIndex(), column_tiles);
    llvm::Value* const row0 = k.Scale(k.Rem(rest, row_tiles), kTile);
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
    for (int step = 0; step < kTile; step += kTileRows) {
      llvm::Value* const tile_row = k.Offset(y, step);
      llvm::Value* const row = k.Add(row0, tile_row);
      llvm::Value* const column = k.Add(column0, x);
      RETURN_IF_ERROR(k.If(inside(row, column), [&]() -> absl::Status {
        ASSIGN_OR_RETURN(const Emitted value,
                         emitter.Emit(operand, ArrayIndex::At(dims, at(row, column))));
        k.StoreShared(tile, k.Add(k.Scale(tile_row, kTile + 1), x), value);
        return absl::OkStatus();
      }));
    }
    k.Barrier();
    for (int step = 0; step < kTile; step += kTileRows) {
      llvm::Value* const tile_column = k.Offset(y, step);
      llvm::Value* const row = k.Add(row0, x);
      llvm::Value* const column = k.Add(column0, tile_column);
      RETURN_IF_ERROR(k.If(inside(row, column), [&] {
        const Emitted value = k.LoadShared(tile, k.Add(k.Scale(x, kTile + 1), tile_column));
        const ArrayIndex::Positions from = at(row, column);
        ArrayIndex::Positions to;
        for (const int64_t d : order) to.push_back(from[static_cast<size_t>(d)]);
        k.Store(frame.outputs[0].buffer, ArrayIndex::At(root->shape().dims(), to).linear(k), value);
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  };
  constexpr int kThreads = kTile * kTileRows;
  ASSIGN_OR_RETURN(const int kernel, AddKernel(frame, kThreads, 0, plan, body));
  AddLaunch(frame, kernel, column_tiles * row_tiles * batch, kThreads, {}, plan);
  return true;
}

}  // namespace hlo::gpu
