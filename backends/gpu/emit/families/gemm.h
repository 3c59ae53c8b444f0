// backends/gpu/emit/families/gemm.h
//
// Products of matrices [batch, rows, depth] x [batch, depth, columns] in tiles, whatever the
// matrices are made of: dot and convolution say where an element comes from and where it goes.
// Each result element sums over the depth in a fixed order. Internal: includes LLVM headers.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "backends/gpu/emit/core/contraction.h"
#include "backends/gpu/emit/core/frame.h"

namespace hlo::gpu {

struct GemmSizes {
  int64_t batch = 1, rows = 0, columns = 0, depth = 0;
};

// The left matrix (free index: the row) or the right one (free index: the column).
struct GemmSide {
  ElementType type = ElementType::kF32;
  // The element at (batch, free, depth), all inside.
  std::function<absl::StatusOr<Emitted>(llvm::Value*, llvm::Value*, llvm::Value*)> element;
  // Neighbours in memory differ in the free index, else in the depth.
  bool along_free = false;
  // Where runs of neighbours that begin at a multiple of `run` and are as long lie in one buffer,
  // one after the other: the buffer and the place of an element. run = 1: nothing is known.
  int run = 1;
  int buffer = -1;
  std::function<llvm::Value*(llvm::Value*, llvm::Value*, llvm::Value*)> place;
  // Whether the run holds elements, else zeros; empty: all do.
  std::function<llvm::Value*(llvm::Value*, llvm::Value*, llvm::Value*)> valid;
};

// Kernels of tensor cores by the type of their factors.
enum class MmaKind { kBf16, kF16, kTf32 };
// The algorithm of a product that asks for `asked` and this precision.
DotAlgorithm AlgorithmFor(DotAlgorithm asked, const PrecisionConfig& precision,
                          const FamilyOptions& options);
// The kind that multiplies such elements as asked: f32 only where the algorithm says so.
std::optional<MmaKind> MmaKindFor(ElementType lhs, ElementType rhs, ElementType result,
                                  DotAlgorithm algorithm, const GemmSizes& sizes);

struct Gemm {
  GemmSide lhs, rhs;
  // Stores sums (of ProductSum::type) of consecutive columns at (batch, row, column).
  std::function<absl::Status(llvm::Value*, llvm::Value*, llvm::Value*, absl::Span<const Emitted>)>
      store;
};
using MakeGemm = std::function<Gemm(GpuFusionEmitter&, const ProductSum&)>;
using MakeSum = std::function<ProductSum(GpuFusionEmitter&)>;

struct GemmRequest {
  GemmSizes sizes;
  std::optional<MmaKind> mma;                // none: every thread multiplies and adds
  int factor_bits = 32;                      // of an element of the matrices
  ElementType sum_type = ElementType::kF32;  // ProductSum::type
  // How the right matrix lies in memory; what make() gives says the same.
  struct {
    bool along_free = false;
    int run = 1;
  } rhs;
  // Of the kernels without: sums that take many registers, or few.
  bool small_tiles = false, large_tiles = false;
  int multiprocessors = 0;
  int choice = 0;  // FamilyOptions::choice
  MakeSum sum;
  MakeGemm make;
};
// Whether the left matrix has so few rows that AddNarrowGemm is for it.
bool IsNarrow(const GemmRequest& request);
absl::Status AddNarrowGemm(const GpuFrame& frame, const GemmRequest& request, KernelPlan& plan);
// Adds the kernels and their launches. Where the result has few tiles and much depth, blocks share
// the depth of a tile, and a second kernel adds up what they have, in order. The choices of the
// plan are sizes of tiles and numbers of such blocks.
absl::Status AddGemm(const GpuFrame& frame, const GemmRequest& request, KernelPlan& plan);

// ---- inside the above ----

// Sums over parts of the depth, in scratch memory: [part, batch, row, column] of sum_type.
struct DepthParts {
  int64_t parts = 1;
  int64_t outputs = 0;  // of a part
  int scratch = -1;     // the buffer
};
// `parts` of them, which `frame` has from then on.
DepthParts AddDepthParts(GpuFrame& frame, const GemmRequest& request, int64_t parts,
                         KernelPlan& plan);
// Where the sum of an element in a part lies.
llvm::Value* PlaceInPart(KernelBuilder& k, const GemmSizes& sizes, const DepthParts& parts,
                         llvm::Value* part, const std::array<llvm::Value*, 3>& batch_row_column);
// Adds the kernel that adds up the parts and stores the results.
absl::Status AddSumOfParts(const GpuFrame& frame, const GemmRequest& request,
                           const DepthParts& parts, KernelPlan& plan);

// A block's place: its tile's first row and column, and the depth that it sums over; that begins at
// a multiple of kDepthStep.
struct GemmTile {
  llvm::Value *batch, *row, *column, *depth, *depth_end;
};
inline constexpr int64_t kDepthStep = 32;  // a multiple of what the kernels take at a time
// Threads and shared memory of the kernels.
struct SimtTile {
  int size = 0, depth = 0, per_thread = 1;
  int threads() const { return size / per_thread * (size / per_thread); }
};
struct MmaTile {
  int size = 0;  // rows, and columns
  int warps_by_row = 0, warps_by_column = 0;
  int threads() const { return warps_by_row * warps_by_column * kWarpSize; }
};
absl::Status EmitSimtGemm(GpuFusionEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm,
                          const ProductSum& sum, const SimtTile& tile, const GemmTile& at);
absl::Status EmitMmaGemm(GpuFusionEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm,
                         MmaKind kind, const MmaTile& tile, const GemmTile& at);

}  // namespace hlo::gpu
