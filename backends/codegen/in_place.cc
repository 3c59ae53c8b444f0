#include "backends/codegen/in_place.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/codegen/kernel_frame.h"
#include "lib/analysis/indexing.h"
#include "lib/ir/updated_operands.h"
#include "lib/types/shape_util.h"
#include "passes/fusion/kernel_support.h"

namespace hlo {
namespace {

constexpr size_t kMostVisits = 2048;

// The index of an element of some value, for element (v0, v1, …) of a result: sums of these and of
// variables that reductions run over. Empty: not known, or not of this form.
using PlaceOf = std::optional<IndexingMap>;

// The place in the operand that `step` reads for one at `place`. Constraints only leave reads out.
PlaceOf PlaceIn(const PlaceOf& place, const std::optional<IndexingMap>& step, Shape operand) {
  if (!place || !step || step->output_rank() != std::ssize(place->results)) return std::nullopt;
  IndexingMap unconstrained = *step;
  if (step->IsAffine()) unconstrained.constraints.clear();
  return Compose(*place, unconstrained, operand.dims());
}

// How the elements of operand buffers are read by what computes the elements of results.
class PlaceReader {
 public:
  explicit PlaceReader(const KernelFrame& frame) : places_(frame.arrays.size()) {
    for (const auto& [value, buffer] : frame.bindings) buffers_[value].push_back(buffer);
  }

  // `value`, or its leaf, is read there.
  void Read(const Instruction& value, int leaf, const PlaceOf& place) {
    const auto it = buffers_.find(&value);
    if (it == buffers_.end()) return ReadOperands(value, leaf, place);
    const Shape shape = value.shape().IsTuple() ? value.shape().element(leaf) : value.shape();
    for (const int buffer : it->second) {
      Place& found = places_[static_cast<size_t>(buffer + leaf)];
      (place && place->KeepsPlace(shape.dims()) ? found.same : found.other) = true;
    }
  }

  // The same of what `value` is computed from.
  void ReadOperands(const Instruction& value, int leaf, const PlaceOf& place) {
    if (!IsNew(value, leaf, place)) return;
    if (value.opcode() == Opcode::kGetTupleElement)
      return Read(*value.operand(0), static_cast<int>(value.tuple_index()), place);
    if (value.opcode() == Opcode::kTuple) return Read(*value.operand(leaf), 0, place);
    // Kernels of others (products, scatters) read in an order of their own.
    const bool is_known = place && value.opcode() != Opcode::kScatter && IsKernelOp(value);
    for (int i = 0; i < value.operand_count(); ++i) {
      const Instruction& operand = *value.operand(i);
      const std::optional<IndexingMap> step =
          is_known ? OperandIndexing(value, i, leaf) : std::nullopt;
      Read(operand, 0, PlaceIn(place, step, operand.shape()));
    }
  }

  bool IsReadInPlace(int buffer) const {
    const Place& place = places_[static_cast<size_t>(buffer)];
    return place.same && !place.other && seen_.size() < kMostVisits;
  }

 private:
  struct Place {
    bool same = false, other = false;
  };

  bool IsNew(const Instruction& value, int leaf, const PlaceOf& place) {
    if (seen_.size() >= kMostVisits) return false;
    std::vector<int64_t> key = {value.id(), leaf, place ? 1 : 0};
    for (const IndexExpr& expr : place ? place->results : std::vector<IndexExpr>()) {
      key.insert(key.end(), {-1, expr.offset});
      for (const IndexExpr::Term& term : expr.terms)
        key.insert(key.end(), {term.variable, term.coefficient});
    }
    if (place) {
      for (const IndexVariable& variable : place->variables) key.push_back(variable.size);
    }
    return seen_.insert(std::move(key)).second;
  }

  std::vector<Place> places_;  // by buffer
  absl::flat_hash_map<const Instruction*, std::vector<int>> buffers_;
  absl::flat_hash_set<std::vector<int64_t>> seen_;
};

}  // namespace

BufferPairs SamePlacePairs(const Instruction& fusion) {
  const absl::StatusOr<KernelFrame> frame = MakeKernelFrame(fusion, "");
  if (!frame.ok()) return {};
  int64_t most = 0;
  for (const KernelOutput& output : frame->outputs)
    most = std::max(most, output.shape.element_count());
  PlaceReader reader(*frame);
  for (const KernelOutput& output : frame->outputs) {
    const bool is_largest = output.shape.element_count() == most;
    const PlaceOf place = is_largest ? PlaceOf(IdentityMap(output.shape.dims())) : std::nullopt;
    if (fusion.IsFusion()) {
      reader.Read(*output.instruction, output.result, place);
    } else {
      reader.ReadOperands(*output.instruction, output.result, place);
    }
  }
  BufferPairs pairs;
  for (int o = 0; o < frame->operand_buffers; ++o) {
    const Shape operand = frame->arrays[static_cast<size_t>(o)];
    if (most == 0 || !reader.IsReadInPlace(o)) continue;
    for (size_t r = 0; r < frame->outputs.size(); ++r) {
      const Shape result = frame->outputs[r].shape;
      if (operand.element_count() == most && result.element_count() == most &&
          ByteSize(operand.element_type()) == ByteSize(result.element_type()))
        pairs.push_back({o, static_cast<int>(r)});
    }
  }
  return pairs;
}

BufferPairs UpdatePairs(const Instruction& fusion) {
  const Instruction* const root = RootOf(fusion);
  BufferPairs pairs;
  for (int k = 0; k < UpdatedOperandCount(*root); ++k) {
    const Instruction* const operand = root->operand(k);
    int position = k;
    if (fusion.IsFusion()) {
      // What else the kernel reads from the buffer might already be overwritten.
      if (operand->opcode() != Opcode::kParameter || operand->use_count() != 1) return {};
      position = static_cast<int>(operand->parameter_number());
      for (int i = 0; i < fusion.operand_count(); ++i) {
        if (i != position && fusion.operand(i) == fusion.operand(position)) return {};
      }
    } else {
      for (int i = 0; i < root->operand_count(); ++i) {
        if (i != k && root->operand(i) == operand) return {};
      }
    }
    int leaf = 0;
    for (int i = 0; i < position; ++i)
      leaf += static_cast<int>(LeafCount(fusion.operand(i)->shape()));
    pairs.push_back({leaf, k});
  }
  return pairs;
}

bool UpdatesInPlace(const Instruction& fusion, const BufferPairs& shared) {
  const BufferPairs wanted = UpdatePairs(fusion);
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](const BufferPair& pair) {
    return Contains(shared, pair);
  });
}

BufferPairs SharedPairs(const Instruction& instruction, const BufferAssignment& buffers) {
  const std::vector<BufferSlice> results = buffers.slices(instruction);
  BufferPairs pairs;
  for (int o = 0; o < instruction.operand_count(); ++o) {
    const std::vector<BufferSlice> operand = buffers.slices(*instruction.operand(o));
    for (size_t r = 0; r < results.size(); ++r) {
      if (operand.size() == 1 && operand[0].allocation >= 0 && operand[0] == results[r])
        pairs.push_back({o, static_cast<int>(r)});
    }
  }
  return pairs;
}

}  // namespace hlo
