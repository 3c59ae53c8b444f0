#include "passes/fusion/row_fusion.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/region.h"
#include "lib/ir/computation.h"
#include "passes/fusion/kernel_support.h"

namespace hlo {
namespace {

// How a value is read: element by element of a row, by row, or in another way. Bits: a value may be
// read in several.
enum View : uint8_t { kElement = 1, kRow = 2, kOther = 4 };

class RowReader {
 public:
  explicit RowReader(const Instruction& fusion) : body_(*fusion.fused_computation()) {}

  std::optional<RowFusion> Run() {
    if (!body_.MayHold(Opcode::kReduce) || !FindRows()) return std::nullopt;
    const Instruction* const root = body_.root();
    if (root->opcode() != Opcode::kTuple) {
      if (!ReadOutput(*root)) return std::nullopt;
    } else {
      for (const Instruction* output : root->operands()) {
        if (!ReadOutput(*output)) return std::nullopt;
      }
    }
    return Collect() ? std::optional(std::move(result_)) : std::nullopt;
  }

 private:
  // The rows that all reductions agree on.
  bool FindRows() {
    for (const Instruction* i : body_.instructions()) {
      if (i->opcode() != Opcode::kReduce) continue;
      if (!i->shape().IsArray() || !ReducesRows(*i) || !CombinerOpcode(*i->to_apply()))
        return false;
      const int64_t rows = i->shape().element_count();
      const int64_t size = RowSize(*i);
      if (rows == 0 || size < 2) return false;
      if (result_.rows != 0 && (rows != result_.rows || size != result_.row_size)) return false;
      result_.rows = rows;
      result_.row_size = size;
    }
    return result_.rows != 0;
  }

  int64_t elements() const { return result_.rows * result_.row_size; }

  bool ReadOutput(const Instruction& output) {
    if (!output.shape().IsArray()) return false;
    const int64_t count = output.shape().element_count();
    if (count != elements() && count != result_.rows) return false;
    return Read(output, count == elements() ? kElement : kRow);
  }

  bool Read(const Instruction& i, View view) {
    uint8_t& views = views_[&i];
    if ((views & view) != 0) return true;
    views |= view;
    if (i.opcode() == Opcode::kReduce)
      return view == kRow && Read(*i.operand(0), kElement) && Read(*i.operand(1), kOther);
    return absl::c_all_of(i.operands(), [&](const Instruction* operand) {
      return Read(*operand, ViewOf(*operand, i, view));
    });
  }

  // How `user`, read in `view`, reads its operand.
  View ViewOf(const Instruction& operand, const Instruction& user, View view) const {
    if (view == kOther || !operand.shape().IsArray()) return kOther;
    const int64_t count = operand.shape().element_count();
    const bool keeps_order = IsFusibleElementwise(user) || user.opcode() == Opcode::kReshape ||
                             user.opcode() == Opcode::kBitcast;
    if (keeps_order && count == user.shape().element_count()) return view;
    if (keeps_order) return count == result_.rows ? kRow : kOther;  // the only row's scalar
    if (user.opcode() != Opcode::kBroadcast) return kOther;
    const DimVec& dims = user.attrs<BroadcastAttrs>().dimensions;
    if (!absl::c_is_sorted(dims)) return kOther;
    if (count == user.shape().element_count()) return view;
    return view == kElement && count == result_.rows && RepeatsInRows(user) ? kRow : kOther;
  }

  // Whether the operand's dimensions are those that count rows.
  bool RepeatsInRows(const Instruction& broadcast) const {
    const Shape shape = broadcast.shape();
    int first = shape.rank();  // of the dimensions of a row
    for (int64_t size = 1; size < result_.row_size && first > 0;) size *= shape.dim(--first);
    int64_t size = 1;
    for (int d = first; d < shape.rank(); ++d) size *= shape.dim(d);
    const DimVec& dims = broadcast.attrs<BroadcastAttrs>().dimensions;
    return size == result_.row_size && absl::c_all_of(dims, [&](int64_t d) {
             return d < first || shape.dim(static_cast<int>(d)) == 1;
           });
  }

  // Sorts what was read into the result.
  bool Collect() {
    // How many reductions each comes after; looked up only.
    absl::flat_hash_map<const Instruction*, size_t> levels;
    bool reads_back = false;
    for (const Instruction* i : body_.PostOrder()) {
      const auto read = views_.find(i);
      if (read == views_.end()) continue;
      const uint8_t views = read->second;
      size_t level = 0;
      for (const Instruction* operand : i->operands()) level = std::max(level, levels[operand]);
      if (i->opcode() == Opcode::kReduce) {
        if (result_.levels.size() <= level) result_.levels.resize(level + 1);
        result_.levels[level++].reduces.push_back(i);
      }
      levels[i] = level;
      if (level > 0 && views != kElement && views != kRow) return false;
      reads_back |= level > 0 && views == kElement;
      if (views == kRow) result_.row_values.push_back(i);
      if (views == kRow && level > 0 && i->opcode() != Opcode::kReduce)
        result_.levels[level - 1].values.push_back(i);
      if (i->opcode() == Opcode::kParameter && (views & kElement) != 0) result_.inputs.push_back(i);
    }
    return reads_back;
  }

  const Computation& body_;
  RowFusion result_;
  absl::flat_hash_map<const Instruction*, uint8_t> views_;  // looked up only
};

}  // namespace

bool ReducesRows(const Instruction& reduce) {
  const auto& dims = reduce.attrs<ReduceAttrs>().dimensions;
  const int64_t first = reduce.operand(0)->shape().rank() - std::ssize(dims);
  return absl::c_all_of(dims, [first](int64_t d) { return d >= first; });
}

int64_t RowSize(const Instruction& reduce) {
  int64_t size = 1;
  for (const int64_t d : reduce.attrs<ReduceAttrs>().dimensions)
    size *= reduce.operand(0)->shape().dim(static_cast<int>(d));
  return size;
}

std::optional<RowFusion> RowFusionOf(const Instruction& fusion) {
  return fusion.IsFusion() ? RowReader(fusion).Run() : std::nullopt;
}

}  // namespace hlo
