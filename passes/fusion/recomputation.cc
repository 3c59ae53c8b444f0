#include "passes/fusion/recomputation.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/indexing.h"
#include "lib/ir/computation.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/round.h"
#include "lib/types/shape_util.h"

namespace hlo {
namespace {

constexpr size_t kMostVisits = 4096;

struct Loop {
  int id = 0;
  int64_t size = 1;
};

// The digits of a loop's variable between `low` and `high`: (variable floordiv low)
// mod (high / low).
struct Part {
  int loop = 0;
  int64_t low = 1;
  int64_t high = 1;
};
using Parts = std::vector<Part>;  // that something depends on

// Which digits `parts`, one of a loop alone, lose in a floordiv and a mod: those of the term of an
// index expression that they are multiplied in.
Parts PartsOfTerm(const Parts& parts, const IndexExpr& expr, int64_t coefficient) {
  const int64_t step = std::abs(coefficient);
  if (parts.size() != 1 || expr.IsAffine() || expr.divisor % step != 0) return parts;
  Part part = parts[0];
  const int64_t base = part.low;
  if (expr.modulus != 0)
    part.high = std::min(part.high, base * (expr.divisor / step) * expr.modulus);
  part.low = base * (expr.divisor / step);
  return part.low < part.high ? Parts{part} : Parts{};
}

class Recomputation {
 public:
  Recomputation(const Instruction& fusion, bool keeps_values)
      : fusion_(fusion), keeps_values_(keeps_values) {}

  std::pair<const Instruction*, int64_t> Run() {
    const Instruction* const root = fusion_.fused_computation()->root();
    Shape largest;
    ForEachLeaf(root->shape(), [&](Shape leaf, const ShapeIndex&) {
      if (!largest.IsArray() || leaf.element_count() > largest.element_count()) largest = leaf;
    });
    const std::vector<Loop> loops = LoopsOver(largest.dims());
    const std::vector<Parts> index = AllOf(loops);
    if (root->opcode() != Opcode::kTuple) {
      Visit(*root, index, loops);
    } else {
      for (const Instruction* output : root->operands()) VisitOutput(*output, index, loops);
    }
    return {most_, times_};
  }

 private:
  std::vector<Loop> LoopsOver(absl::Span<const int64_t> dims) {
    std::vector<Loop> loops;
    for (const int64_t size : dims) loops.push_back({next_loop_++, size});
    return loops;
  }

  static std::vector<Parts> AllOf(const std::vector<Loop>& loops) {
    std::vector<Parts> index;
    for (const Loop& loop : loops) index.push_back({{loop.id, 1, loop.size}});
    return index;
  }

  // One with as many elements, or one element for each row: rows are complete where loops of the
  // leading dimensions go on. Others are computed in loops of their own.
  void VisitOutput(const Instruction& output, const std::vector<Parts>& index,
                   const std::vector<Loop>& loops) {
    const absl::Span<const int64_t> dims = output.shape().dims();
    const bool is_row =
        dims.size() <= loops.size() &&
        std::equal(dims.begin(), dims.end(), loops.begin(),
                   [](int64_t size, const Loop& loop) { return loop.size == size; });
    if (is_row) {
      const auto rank = static_cast<int64_t>(dims.size());
      Visit(output, {index.begin(), index.begin() + rank}, {loops.begin(), loops.begin() + rank});
    } else {
      const std::vector<Loop> own = LoopsOver(dims);
      Visit(output, AllOf(own), own);
    }
  }

  // An element of `instruction` at an index of these parts is computed where `loops` run.
  void Visit(const Instruction& instruction, const std::vector<Parts>& index,
             const std::vector<Loop>& loops) {
    if (instruction.opcode() == Opcode::kParameter || !IsNew(instruction, index, loops)) return;
    if (kReduceOps.Has(instruction.opcode())) {
      VisitReduce(instruction, index, loops);
    } else if (instruction.opcode() == Opcode::kGetTupleElement) {
      const Instruction& tuple = *instruction.operand(0);
      const auto element = static_cast<int>(instruction.tuple_index());
      Visit(tuple.opcode() == Opcode::kTuple ? *tuple.operand(element) : tuple, index, loops);
    } else {
      for (int i = 0; i < instruction.operand_count(); ++i) {
        std::vector<Loop> inside = loops;
        const std::vector<Parts> operand = IndexOf(instruction, i, index, inside);
        Visit(*instruction.operand(i), operand, inside);
      }
    }
  }

  void VisitReduce(const Instruction& reduce, const std::vector<Parts>& index,
                   const std::vector<Loop>& loops) {
    std::vector<Loop> around = loops;
    const bool is_kept = keeps_values_ && reduce.opcode() == Opcode::kReduce;
    if (is_kept) {
      while (!around.empty() && !DependsOn(index, around.back())) around.pop_back();
    }
    const int64_t times = TimesUnused(index, around, is_kept);
    if (times > times_) {
      times_ = times;
      most_ = &reduce;
    }
    for (int i = 0; i < reduce.operand_count() / 2; ++i) {
      std::vector<Loop> inside = around;
      const std::vector<Parts> operand = IndexOf(reduce, i, index, inside);
      Visit(*reduce.operand(i), operand, inside);
    }
  }

  // The index of an operand; what the instruction runs over becomes loops inside of `loops`. No
  // composition of maps (indexing.h), which ends where a reshape does not keep places: digits of
  // loops are less than an index and outlast any number of reshapes.
  std::vector<Parts> IndexOf(const Instruction& instruction, int operand,
                             const std::vector<Parts>& index, std::vector<Loop>& loops) {
    Parts all;
    for (const Parts& parts : index) all.insert(all.end(), parts.begin(), parts.end());
    const Shape shape = instruction.operand(operand)->shape();
    const auto rank = shape.IsArray() ? static_cast<size_t>(shape.rank()) : 0;
    const std::optional<IndexingMap> map = OperandIndexing(instruction, operand);
    if (!map || map->output_rank() != std::ssize(index)) return std::vector<Parts>(rank, all);
    const std::vector<Parts> variables =
        BindVariables(*map, index, [&](const IndexVariable& variable) {
          // Starts of a slice are the same for all of it, those of a gather are not.
          if (variable.kind == IndexVariable::Kind::kRuntime)
            return instruction.opcode() == Opcode::kGather ? all : Parts();
          loops.push_back({next_loop_++, variable.size});
          return Parts{{loops.back().id, 1, variable.size}};
        });
    std::vector<Parts> result;
    for (const IndexExpr& expr : map->results) {
      Parts& parts = result.emplace_back();
      for (const IndexExpr::Term& term : expr.terms) {
        const Parts own =
            PartsOfTerm(variables[static_cast<size_t>(term.variable)], expr, term.coefficient);
        parts.insert(parts.end(), own.begin(), own.end());
      }
    }
    return result;
  }

  static bool DependsOn(const std::vector<Parts>& index, const Loop& loop) {
    return loop.size > 1 && absl::c_any_of(index, [&](const Parts& parts) {
             return absl::c_any_of(parts, [&](const Part& part) { return part.loop == loop.id; });
           });
  }

  // Iterations of `loops` for each that the index tells apart. Digits of the innermost loop below
  // those in the index are inside of where the value is kept.
  static int64_t TimesUnused(const std::vector<Parts>& index, const std::vector<Loop>& loops,
                             bool is_kept) {
    int64_t times = 1;
    for (const Loop& loop : loops) {
      Parts used;
      for (const Parts& parts : index) {
        for (const Part& part : parts) {
          if (part.loop == loop.id) used.push_back(part);
        }
      }
      absl::c_sort(used, [](const Part& a, const Part& b) { return a.low < b.low; });
      const bool keeps_digits = is_kept && loop.id == loops.back().id && !used.empty();
      int64_t known = keeps_digits ? used[0].low : 1;  // digits below it count as used
      int64_t unused = 1;
      for (const Part& part : used) {
        if (part.low > known) unused *= CeilDiv(part.low, known);
        known = std::max(known, part.high);
      }
      times *= unused * CeilDiv(std::max<int64_t>(loop.size, 1), known);
    }
    return times;
  }

  bool IsNew(const Instruction& instruction, const std::vector<Parts>& index,
             const std::vector<Loop>& loops) {
    if (seen_.size() >= kMostVisits) return false;
    std::vector<int64_t> key = {instruction.id()};
    for (const Loop& loop : loops) key.push_back(loop.id);
    for (const Parts& parts : index) {
      key.push_back(-1);
      for (const Part& part : parts) key.insert(key.end(), {part.loop, part.low, part.high});
    }
    return seen_.insert(std::move(key)).second;
  }

  const Instruction& fusion_;
  bool keeps_values_;
  int next_loop_ = 0;
  const Instruction* most_ = nullptr;
  int64_t times_ = 0;
  absl::flat_hash_set<std::vector<int64_t>> seen_;
};

}  // namespace

std::pair<const Instruction*, int64_t> MostRecomputed(const Instruction& fusion,
                                                      bool keeps_values) {
  const Computation& body = *fusion.fused_computation();
  if (!body.MayHold(Opcode::kReduce) && !body.MayHold(Opcode::kReduceWindow)) return {nullptr, 0};
  return Recomputation(fusion, keeps_values).Run();
}

}  // namespace hlo
