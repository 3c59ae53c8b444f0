// Tiles by tensor cores (mma.sync): each warp keeps a part of the tile's sums in registers,
// operands go from memory through registers into one of two stages of shared memory while the other
// stage is multiplied; a barrier per stage.
//
// Copies are of 16 bytes: four words. A stage holds an operand as it lies in memory, [free][depth]
// or [depth][free], with rows long enough that neither the copies nor the loads of fragments meet
// bank conflicts. Which lane holds which element of a fragment is the PTX ISA's; 16-bit fragments
// come by ldmatrix, tf32 by plain loads.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backends/gpu/emit/families/gemm.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kMmaRows = 16;
constexpr int kMmaColumns = 8;
constexpr int kStageBytes = 64;  // of depth
static_assert(kDepthStep % (kStageBytes / 2) == 0);
constexpr int kVectorBytes = 16;

using Words = absl::InlinedVector<llvm::Value*, 4>;

class MmaEmission {
 public:
  MmaEmission(GpuFusionEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm, MmaKind kind,
              const MmaTile& tile, const GemmTile& at)
      : emitter_(emitter),
        k_(emitter.kernel()),
        b_(k_.b()),
        sizes_(sizes),
        gemm_(gemm),
        kind_(kind),
        tile_(tile),
        at_(at) {
    element_bytes_ = kind == MmaKind::kTf32 ? 4 : 2;
    vector_ = kVectorBytes / element_bytes_;
    stage_depth_ = kStageBytes / element_bytes_;
    mma_depth_ = kind == MmaKind::kTf32 ? 8 : 16;
    lane_ = k_.Rem(k_.ThreadIndex(), kWarpSize);
    llvm::Value* const warp = k_.Div(k_.ThreadIndex(), kWarpSize);
    warp_rows_ = tile.size / tile.warps_by_row;
    warp_columns_ = tile.size / tile.warps_by_column;
    row0_ = k_.Scale(k_.Div(warp, tile.warps_by_column), warp_rows_);
    column0_ = k_.Scale(k_.Rem(warp, tile.warps_by_column), warp_columns_);
    lhs_ = MakeSide(gemm.lhs, sizes.rows, at.row, "lhs_tile");
    rhs_ = MakeSide(gemm.rhs, sizes.columns, at.column, "rhs_tile");
  }

  absl::Status Emit() {
    ASSIGN_OR_RETURN(const EmittedList first, Load(at_.depth));
    Store(first, k_.Rem(k_.Div(at_.depth, stage_depth_), 2));
    k_.Barrier();
    const Emitted zero = {llvm::ConstantFP::get(b_.getFloatTy(), 0.0), nullptr};
    EmittedList sums(static_cast<size_t>(RowTiles() * ColumnTiles() * 4), zero);
    const auto step = [&](llvm::Value* depth0,
                          const EmittedList& before) -> absl::StatusOr<EmittedList> {
      llvm::Value* const stage = k_.Rem(k_.Div(depth0, stage_depth_), 2);
      llvm::Value* const next = k_.Offset(depth0, stage_depth_);
      llvm::Value* const has_next = k_.Less(next, at_.depth_end);
      const auto none = [&]() -> absl::StatusOr<EmittedList> {
        return EmittedList(static_cast<size_t>(2 * Chunks()), ZeroVector());
      };
      ASSIGN_OR_RETURN(const EmittedList ahead, k_.Guarded(
                                                    has_next, [&] { return Load(next); }, none));
      EmittedList after = before;
      for (int depth = 0; depth < stage_depth_; depth += mma_depth_) Multiply(stage, depth, after);
      RETURN_IF_ERROR(k_.If(has_next, [&] {
        Store(ahead, k_.Sub(k_.Index(1), stage));
        return absl::OkStatus();
      }));
      k_.Barrier();
      return after;
    };
    ASSIGN_OR_RETURN(sums, k_.Loop(at_.depth, at_.depth_end, k_.Index(stage_depth_), sums, step));
    return StoreSums(sums);
  }

 private:
  struct Side {
    const GemmSide* from;
    int64_t size;        // of the whole matrix
    llvm::Value* free0;  // the tile's first row or column
    SharedArray shared;
    int row;    // elements from one row of the stage to the next
    int stage;  // elements of a stage
  };

  Side MakeSide(const GemmSide& from, int64_t size, llvm::Value* free0, std::string_view name) {
    Side side = {&from, size, free0, {}, 0, 0};
    // 16 bytes more: rows begin in other banks.
    side.row = from.along_free ? tile_.size + 8 : stage_depth_ + vector_;
    side.stage = side.row * (from.along_free ? stage_depth_ : tile_.size);
    side.shared = k_.Shared(element_bytes_ == 4 ? ElementType::kU32 : ElementType::kU16,
                            2 * side.stage, name);
    return side;
  }

  int RowTiles() const { return warp_rows_ / kMmaRows; }
  int ColumnTiles() const { return warp_columns_ / kMmaColumns; }
  // Vectors of an operand's stage that a thread copies.
  int Chunks() const { return tile_.size * stage_depth_ / vector_ / tile_.threads(); }
  Emitted ZeroVector() const {
    return {llvm::Constant::getNullValue(llvm::FixedVectorType::get(b_.getInt32Ty(), 4)), nullptr};
  }

  // ---- from memory to shared memory ----

  // Chunk `c` of this thread in a stage.
  struct Place {
    llvm::Value *free, *depth;
  };
  Place PlaceOf(const Side& side, int c) const {
    const bool along_free = side.from->along_free;
    const int fast = (along_free ? tile_.size : stage_depth_) / vector_;
    llvm::Value* const number = k_.Offset(k_.ThreadIndex(), c * tile_.threads());
    llvm::Value* const inner = k_.Scale(k_.Rem(number, fast), vector_);
    llvm::Value* const outer = k_.Div(number, fast);
    return along_free ? Place{inner, outer} : Place{outer, inner};
  }

  // All chunks of both operands from `depth0` on.
  absl::StatusOr<EmittedList> Load(llvm::Value* depth0) {
    EmittedList vectors;
    for (const Side* side : {&lhs_, &rhs_}) {
      for (int c = 0; c < Chunks(); ++c) {
        const Place place = PlaceOf(*side, c);
        llvm::Value* const free = k_.Add(side->free0, place.free);
        llvm::Value* const depth = k_.Add(depth0, place.depth);
        ASSIGN_OR_RETURN(const Emitted vector, LoadChunk(*side, free, depth));
        vectors.push_back(vector);
      }
    }
    return vectors;
  }

  llvm::Value* Inside(const Side& side, llvm::Value* free, llvm::Value* depth) const {
    llvm::Value* inside = b_.getTrue();
    if (side.size % tile_.size != 0) inside = k_.Less(free, k_.Index(side.size));
    if (sizes_.depth % stage_depth_ != 0)
      inside = b_.CreateAnd(inside, k_.Less(depth, k_.Index(sizes_.depth)));
    return inside;
  }

  absl::StatusOr<Emitted> LoadChunk(const Side& side, llvm::Value* free, llvm::Value* depth) {
    // Four words from elements.
    const auto gather = [&](absl::Span<const Emitted> elements) {
      auto* const type = llvm::FixedVectorType::get(
          b_.getIntNTy(static_cast<unsigned>(element_bytes_) * 8), static_cast<unsigned>(vector_));
      llvm::Value* vector = llvm::PoisonValue::get(type);
      for (size_t i = 0; i < elements.size(); ++i)
        vector = b_.CreateInsertElement(vector, Word(side, elements[i]), i);
      return EmittedList{{b_.CreateBitCast(vector, ZeroVector().value->getType()), nullptr}};
    };
    const auto zero = [&]() -> absl::StatusOr<EmittedList> { return EmittedList{ZeroVector()}; };
    if (side.from->run % vector_ == 0) {
      const auto load = [&]() -> absl::StatusOr<EmittedList> {
        llvm::Value* const place = side.from->place(at_.batch, free, depth);
        if (ByteSize(side.from->type) == 2)
          return EmittedList{{k_.LoadWords(side.from->buffer, place), nullptr}};
        return gather(k_.LoadVector(side.from->buffer, place, vector_));
      };
      const auto valid = [&]() -> absl::StatusOr<EmittedList> {
        if (!side.from->valid) return load();
        return k_.Guarded(side.from->valid(at_.batch, free, depth), load, zero);
      };
      ASSIGN_OR_RETURN(const EmittedList vector,
                       k_.Guarded(Inside(side, free, depth), valid, zero));
      return vector[0];
    }
    EmittedList elements;
    const uint8_t zeros[16] = {};
    for (int i = 0; i < vector_; ++i) {
      llvm::Value* const at_free = side.from->along_free ? k_.Offset(free, i) : free;
      llvm::Value* const at_depth = side.from->along_free ? depth : k_.Offset(depth, i);
      const auto load = [&]() -> absl::StatusOr<EmittedList> {
        ASSIGN_OR_RETURN(const Emitted value, side.from->element(at_.batch, at_free, at_depth));
        return EmittedList{value};
      };
      const auto none = [&]() -> absl::StatusOr<EmittedList> {
        return EmittedList{k_.Constant(side.from->type, zeros)};
      };
      ASSIGN_OR_RETURN(const EmittedList one,
                       k_.Guarded(Inside(side, at_free, at_depth), load, none));
      elements.push_back(one[0]);
    }
    return gather(elements)[0];
  }

  // The bits that are multiplied.
  llvm::Value* Word(const Side& side, const Emitted& value) {
    const ElementType type = side.from->type;
    if (kind_ == MmaKind::kBf16) return emitter_.Convert(value, type, ElementType::kBF16).value;
    if (kind_ == MmaKind::kF16) return emitter_.Convert(value, type, ElementType::kF16).value;
    // To the nearest of 10 digits, away from zero in the middle; the hardware drops the others.
    llvm::Value* const bits = b_.CreateBitCast(value.value, b_.getInt32Ty());
    llvm::Value* const rounded = b_.CreateAdd(bits, b_.getInt32(0x1000));
    return b_.CreateSelect(b_.CreateFCmpUNO(value.value, value.value), bits, rounded);
  }

  void Store(const EmittedList& vectors, llvm::Value* stage) {
    size_t next = 0;
    for (const Side* side : {&lhs_, &rhs_}) {
      for (int c = 0; c < Chunks(); ++c) {
        const Place place = PlaceOf(*side, c);
        b_.CreateAlignedStore(vectors[next++].value, At(*side, stage, place.free, place.depth),
                              llvm::Align(kVectorBytes));
      }
    }
  }

  llvm::Value* At(const Side& side, llvm::Value* stage, llvm::Value* free,
                  llvm::Value* depth) const {
    llvm::Value* const inner = side.from->along_free ? k_.Add(k_.Scale(depth, side.row), free)
                                                     : k_.Add(k_.Scale(free, side.row), depth);
    return k_.SharedAddress(side.shared, k_.Add(k_.Scale(stage, side.stage), inner));
  }

  // ---- fragments and products ----

  // The four words of a 16 (free) x 16 (depth) fragment by ldmatrix. Lanes 8 i to 8 i + 7 point to
  // the rows of 8 x 8 matrix i; `free_first`: matrix 1 lies after matrix 0 along the free index,
  // else along the depth.
  Words LoadPairs(const Side& side, llvm::Value* stage, llvm::Value* free0, int depth0,
                  bool free_first) {
    llvm::Value* const row = k_.Rem(lane_, 8);
    llvm::Value* const second = k_.Scale(k_.Rem(k_.Div(lane_, 8), 2), 8);
    llvm::Value* const fourth = k_.Scale(k_.Div(lane_, 16), 8);
    llvm::Value* free = k_.Add(free0, free_first ? second : fourth);
    llvm::Value* depth = k_.Offset(free_first ? fourth : second, depth0);
    (side.from->along_free ? depth : free) = k_.Add(side.from->along_free ? depth : free, row);
    llvm::Value* const address = At(side, stage, free, depth);
    const auto id = side.from->along_free
                        ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                        : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
    llvm::Value* const loaded = k_.TogetherInWarp(id, {address->getType()}, {address});
    Words words;
    for (unsigned i = 0; i < 4; ++i) words.push_back(b_.CreateExtractValue(loaded, i));
    return words;
  }

  // The word of a tf32 fragment at (free, depth).
  llvm::Value* LoadWord(const Side& side, llvm::Value* stage, llvm::Value* free0, int free,
                        int depth) {
    llvm::Value* const group = k_.Add(k_.Div(lane_, 4), k_.Offset(free0, free));
    llvm::Value* const at = k_.Offset(k_.Rem(lane_, 4), depth);
    return b_.CreateAlignedLoad(b_.getInt32Ty(), At(side, stage, group, at), llvm::Align(4));
  }

  Words RowFragment(llvm::Value* stage, int tile, int depth) {
    llvm::Value* const first = k_.Offset(row0_, tile * kMmaRows);
    if (kind_ != MmaKind::kTf32) return LoadPairs(lhs_, stage, first, depth, /*free_first=*/true);
    Words words;
    for (int w = 0; w < 4; ++w)
      words.push_back(LoadWord(lhs_, stage, first, w % 2 * 8, depth + w / 2 * 4));
    return words;
  }
  // Two neighbouring column tiles, two words each.
  Words ColumnFragments(llvm::Value* stage, int tile, int depth) {
    llvm::Value* const first = k_.Offset(column0_, tile * kMmaColumns);
    if (kind_ != MmaKind::kTf32) return LoadPairs(rhs_, stage, first, depth, /*free_first=*/false);
    Words words;
    for (int w = 0; w < 4; ++w)
      words.push_back(LoadWord(rhs_, stage, first, w / 2 * kMmaColumns, depth + w % 2 * 4));
    return words;
  }

  void Multiply(llvm::Value* stage, int depth, EmittedList& sums) {
    std::vector<Words> rows;
    for (int i = 0; i < RowTiles(); ++i) rows.push_back(RowFragment(stage, i, depth));
    for (int j = 0; j < ColumnTiles(); j += 2) {
      const Words columns = ColumnFragments(stage, j, depth);
      for (int i = 0; i < RowTiles(); ++i) {
        for (int half = 0; half < 2; ++half) {
          const auto at = static_cast<size_t>((i * ColumnTiles() + j + half) * 4);
          Mma(rows[static_cast<size_t>(i)], columns[static_cast<size_t>(2 * half)],
              columns[static_cast<size_t>(2 * half + 1)], &sums[at]);
        }
      }
    }
  }

  void Mma(const Words& rows, llvm::Value* first, llvm::Value* second, Emitted* sums) {
    absl::InlinedVector<llvm::Value*, 10> arguments(rows.begin(), rows.end());
    arguments.push_back(first);
    arguments.push_back(second);
    llvm::Intrinsic::ID id = llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
    if (kind_ == MmaKind::kTf32) id = llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32;
    if (kind_ == MmaKind::kF16) {
      id = llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32;
      auto* const pair = llvm::FixedVectorType::get(b_.getHalfTy(), 2);
      for (llvm::Value*& word : arguments) word = b_.CreateBitCast(word, pair);
    }
    for (int i = 0; i < 4; ++i) arguments.push_back(sums[i].value);
    llvm::Value* const products =
        k_.TogetherInWarp(id, {}, llvm::ArrayRef<llvm::Value*>(arguments.data(), arguments.size()));
    for (unsigned i = 0; i < 4; ++i) sums[i].value = b_.CreateExtractValue(products, i);
  }

  // ---- results ----

  absl::Status StoreSums(const EmittedList& sums) {
    for (int i = 0; i < RowTiles(); ++i) {
      for (int j = 0; j < ColumnTiles(); ++j) {
        for (int half = 0; half < 2; ++half) {
          const auto n = static_cast<size_t>((i * ColumnTiles() + j) * 4 + half * 2);
          llvm::Value* const row =
              k_.Add(at_.row, k_.Offset(k_.Add(row0_, k_.Div(lane_, 4)), i * kMmaRows + half * 8));
          llvm::Value* const column =
              k_.Add(at_.column,
                     k_.Offset(k_.Add(column0_, k_.Scale(k_.Rem(lane_, 4), 2)), j * kMmaColumns));
          RETURN_IF_ERROR(StorePair(row, column, {sums[n], sums[n + 1]}));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status StorePair(llvm::Value* row, llvm::Value* column, const EmittedList& pair) {
    llvm::Value* inside = b_.getTrue();
    if (sizes_.rows % tile_.size != 0) inside = k_.Less(row, k_.Index(sizes_.rows));
    // Pairs begin at even columns: of an even number both are inside, or none.
    if (sizes_.columns % 2 == 0) {
      if (sizes_.columns % tile_.size != 0)
        inside = b_.CreateAnd(inside, k_.Less(column, k_.Index(sizes_.columns)));
      return k_.If(inside, [&] { return gemm_.store(at_.batch, row, column, pair); });
    }
    return k_.If(inside, [&]() -> absl::Status {
      for (int i = 0; i < 2; ++i) {
        llvm::Value* const at = k_.Offset(column, i);
        RETURN_IF_ERROR(k_.If(k_.Less(at, k_.Index(sizes_.columns)), [&] {
          return gemm_.store(at_.batch, row, at, {pair[static_cast<size_t>(i)]});
        }));
      }
      return absl::OkStatus();
    });
  }

  GpuFusionEmitter& emitter_;
  KernelBuilder& k_;
  llvm::IRBuilder<>& b_;
  const GemmSizes& sizes_;
  const Gemm& gemm_;
  MmaKind kind_;
  const MmaTile& tile_;
  const GemmTile& at_;
  int element_bytes_, vector_, stage_depth_, mma_depth_;
  llvm::Value *lane_, *row0_, *column0_;  // the warp's first row and column in the tile
  int warp_rows_, warp_columns_;
  Side lhs_, rhs_;
};

}  // namespace

absl::Status EmitMmaGemm(GpuFusionEmitter& emitter, const GemmSizes& sizes, const Gemm& gemm,
                         MmaKind kind, const MmaTile& tile, const GemmTile& at) {
  return MmaEmission(emitter, sizes, gemm, kind, tile, at).Emit();
}

}  // namespace hlo::gpu
