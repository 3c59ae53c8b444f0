#include "backends/cpu/tile/bounds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

namespace hlo::cpu::tile {
namespace {

// Numbers beyond this are not reckoned with, so that nothing overflows.
constexpr int64_t kHuge = int64_t{1} << 46;
// Replacements in one proof; a dozen is usual.
constexpr int kMostSteps = 400;

// The number of the lane, in [0, lanes), stands as this symbol.
constexpr Value kLane = -1;

// constant + sum of coefficient * symbol, symbols ascending.
struct Sum {
  struct Term {
    Value symbol;
    int64_t coefficient;
    friend bool operator==(const Term&, const Term&) = default;
  };
  int64_t constant = 0;
  absl::InlinedVector<Term, 6> terms;

  static Sum Symbol(Value symbol) {
    Sum sum;
    sum.terms.push_back({symbol, 1});
    return sum;
  }
  static Sum Number(int64_t constant) {
    Sum sum;
    sum.constant = constant;
    return sum;
  }
  void Add(const Sum& other, int64_t scale = 1) {
    constant += other.constant * scale;
    for (const Term& term : other.terms) {
      const auto at =
          std::lower_bound(terms.begin(), terms.end(), term.symbol,
                           [](const Term& a, Value symbol) { return a.symbol < symbol; });
      if (at != terms.end() && at->symbol == term.symbol) {
        at->coefficient += term.coefficient * scale;
        if (at->coefficient == 0) terms.erase(at);
      } else if (term.coefficient * scale != 0) {
        terms.insert(at, {term.symbol, term.coefficient * scale});
      }
    }
  }
  bool IsHuge() const {
    return constant > kHuge || constant < -kHuge ||
           std::any_of(terms.begin(), terms.end(), [](const Term& term) {
             return term.coefficient > kHuge || term.coefficient < -kHuge;
           });
  }
};

// `value` is at most 0.
using Facts = std::vector<Sum>;

// What a symbol lies between. Of `any`, each is a bound; of `one_of`, one is, nobody knows which.
struct Limits {
  absl::InlinedVector<Sum, 2> any_lower, any_upper;
  absl::InlinedVector<Sum, 2> one_lower, one_upper;
};

ComparisonDirection Opposite(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq: return ComparisonDirection::kNe;
    case ComparisonDirection::kNe: return ComparisonDirection::kEq;
    case ComparisonDirection::kLt: return ComparisonDirection::kGe;
    case ComparisonDirection::kGe: return ComparisonDirection::kLt;
    case ComparisonDirection::kGt: return ComparisonDirection::kLe;
    case ComparisonDirection::kLe: return ComparisonDirection::kGt;
  }
  return direction;
}

class Prover {
 public:
  Prover(const Kernel& kernel, int64_t task_count)
      : kernel_(kernel),
        surely_runs_(task_count > 0),
        proofs_(kernel.nodes.size(), AccessProof::kNoAccess) {
    const Values& tasks = kernel.blocks[0].arguments;
    limits_[tasks[0]].any_lower.push_back(Sum::Number(0));
    // Nobody runs a kernel for no task at all.
    limits_[tasks[0]].any_upper.push_back(Sum::Number(task_count - 1));
    limits_[tasks[1]].any_lower.push_back(Sum::Number(1));
    limits_[tasks[1]].any_upper.push_back(Sum::Number(task_count));
    for (const Node& node : kernel.nodes) {
      if (node.op != Op::kLoop) continue;
      const Block& body = kernel.blocks[static_cast<size_t>(node.blocks[0])];
      loop_of_[body.arguments[0]] = &node;
    }
  }

  std::vector<AccessProof> Run() {
    Facts facts;
    RunBlock(kernel_.blocks[0], facts, surely_runs_);
    return std::move(proofs_);
  }

 private:
  // ---- walking ----

  void RunBlock(const Block& block, Facts& facts, bool surely) {
    for (const int32_t n : block.nodes) {
      const Node& node = kernel_.nodes[static_cast<size_t>(n)];
      if (node.op == Op::kLoad) {
        Prove(n, node, node.results[0], facts, surely);
      } else if (node.op == Op::kStore) {
        Prove(n, node, node.operands[1], facts, surely);
      } else if (node.op == Op::kLoop) {
        const auto lo = ConstantOf(node.operands[0]), hi = ConstantOf(node.operands[1]);
        const bool runs = lo && hi && *lo < *hi;
        RunBlock(kernel_.blocks[static_cast<size_t>(node.blocks[0])], facts, surely && runs);
      } else if (node.op == Op::kIf) {
        const size_t known = facts.size();
        AddFacts(node.operands[0], facts);
        RunBlock(kernel_.blocks[static_cast<size_t>(node.blocks[0])], facts, false);
        facts.resize(known);
        AddFacts(node.operands[0], facts, /*holds=*/false);
        RunBlock(kernel_.blocks[static_cast<size_t>(node.blocks[1])], facts, false);
        facts.resize(known);
      }
    }
  }

  void Prove(int32_t number, const Node& node, Value value, Facts& facts, bool surely) {
    const int lanes = kernel_.type(value).lanes;
    Sum index = SumOf(node.operands[0]);
    if (kernel_.type(node.operands[0]).lanes == 1 && lanes > 1)
      index.Add(Sum::Symbol(kLane), node.stride);
    lanes_ = lanes;
    const size_t known = facts.size();
    const bool masked = node.op == Op::kLoad && node.operands.size() > 1;
    if (masked) AddFacts(node.operands[1], facts);
    facts_ = &facts;
    const int64_t elements = kernel_.buffers[static_cast<size_t>(node.buffer)].elements;
    Sum above = index;  // above - elements + 1 <= 0, and -index <= 0
    above.constant -= elements - 1;
    Sum below;
    below.Add(index, -1);
    AccessProof proof = AccessProof::kUnknown;
    if (NotPositive(above) && NotPositive(below)) {
      proof = AccessProof::kInside;
    } else if (surely && !masked) {
      Sum beyond = Sum::Number(elements);  // elements - index <= 0, or index + 1 <= 0
      beyond.Add(index, -1);
      Sum before = index;
      before.constant += 1;
      if (NotPositive(beyond) || NotPositive(before)) proof = AccessProof::kOutside;
    }
    proofs_[static_cast<size_t>(number)] = proof;
    facts.resize(known);
  }

  // ---- what values are ----

  const Node* NodeOf(Value v) const {
    const int32_t node = kernel_.values[static_cast<size_t>(v)].node;
    return node < 0 ? nullptr : &kernel_.nodes[static_cast<size_t>(node)];
  }

  std::optional<int64_t> ConstantOf(Value v) const {
    const Node* const node = NodeOf(v);
    if (node != nullptr && node->op == Op::kSplat) return ConstantOf(node->operands[0]);
    if (node == nullptr || node->op != Op::kConstant) return std::nullopt;
    const auto value = static_cast<int64_t>(node->bits[0]);
    if (value > kHuge || value < -kHuge) return std::nullopt;
    return value;
  }

  // An index as a sum; what is not one is a symbol.
  Sum SumOf(Value v) {
    if (const auto constant = ConstantOf(v)) return Sum::Number(*constant);
    const Node* const node = NodeOf(v);
    if (node == nullptr) return Sum::Symbol(v);
    if (node->op == Op::kIota) return Sum::Symbol(kLane);
    if (node->op == Op::kSplat) return SumOf(node->operands[0]);
    if (node->op != Op::kElement || kernel_.type(v).element != ElementType::kS64)
      return Sum::Symbol(v);
    if (node->opcode == Opcode::kAdd || node->opcode == Opcode::kSubtract) {
      Sum sum = SumOf(node->operands[0]);
      sum.Add(SumOf(node->operands[1]), node->opcode == Opcode::kAdd ? 1 : -1);
      if (!sum.IsHuge()) return sum;
    }
    if (node->opcode == Opcode::kMultiply) {
      for (const size_t side : {size_t{0}, size_t{1}}) {
        const auto factor = ConstantOf(node->operands[side]);
        if (!factor) continue;
        Sum sum;
        const Sum other = SumOf(node->operands[1 - side]);
        if (*factor > kHuge / 1024 || *factor < -kHuge / 1024 || other.IsHuge()) continue;
        sum.Add(other, *factor);
        if (!sum.IsHuge()) return sum;
      }
    }
    return Sum::Symbol(v);
  }

  const Limits& LimitsOf(Value symbol) {
    if (const auto it = limits_.find(symbol); it != limits_.end()) return it->second;
    Limits limits;
    if (symbol == kLane) {
      limits.any_lower.push_back(Sum::Number(0));
      limits.any_upper.push_back(Sum::Number(int64_t{lanes_} - 1));
      lane_limits_ = limits;
      return lane_limits_;
    }
    if (const auto loop = loop_of_.find(symbol); loop != loop_of_.end()) {
      LimitLoop(*loop->second, limits);
    } else if (const Node* const node = NodeOf(symbol)) {
      LimitNode(*node, limits);
    }
    AddTypeLimits(symbol, limits);
    return limits_[symbol] = std::move(limits);
  }

  void LimitLoop(const Node& loop, Limits& limits) {
    const Sum lo = SumOf(loop.operands[0]);
    Sum last = SumOf(loop.operands[1]);
    Sum length = last;
    length.Add(lo, -1);
    last.constant -= IsMultiple(length, loop.stride) ? loop.stride : 1;
    limits.any_lower.push_back(lo);
    limits.any_upper.push_back(last);
  }

  void LimitNode(const Node& node, Limits& limits) {
    if (node.op == Op::kIndexDiv || node.op == Op::kIndexRem) return LimitDivision(node, limits);
    if (node.op != Op::kElement) return;
    const auto operand = [&](size_t i) { return SumOf(node.operands[i]); };
    if (node.opcode == Opcode::kMinimum) {
      limits.any_upper = {operand(0), operand(1)};
      limits.one_lower = {operand(0), operand(1)};
    } else if (node.opcode == Opcode::kMaximum) {
      limits.any_lower = {operand(0), operand(1)};
      limits.one_upper = {operand(0), operand(1)};
    } else if (node.opcode == Opcode::kSelect) {
      limits.one_lower = {operand(1), operand(2)};
      limits.one_upper = {operand(1), operand(2)};
    }
  }

  // Of x >= 0 by a constant (tile_ir.h).
  void LimitDivision(const Node& node, Limits& limits) {
    limits.any_lower.push_back(Sum::Number(0));
    const auto divisor = ConstantOf(node.operands[1]);
    if (!divisor || *divisor <= 0) return;
    const Sum x = SumOf(node.operands[0]);
    if (node.op == Op::kIndexRem) {
      limits.any_upper.push_back(Sum::Number(*divisor - 1));
      limits.any_upper.push_back(x);
      return;
    }
    const int steps = std::exchange(steps_, 0);
    const int lanes = std::exchange(lanes_, kernel_.type(node.results[0]).lanes);
    if (const std::optional<int64_t> most = Most(x))
      limits.any_upper.push_back(Sum::Number(*most / *divisor));
    steps_ = steps;
    lanes_ = lanes;
  }

  // Small integers that came from memory.
  void AddTypeLimits(Value symbol, Limits& limits) {
    const Node* const node = NodeOf(symbol);
    if (node == nullptr || node->op != Op::kElement || node->opcode != Opcode::kConvert) return;
    const ElementType from = kernel_.type(node->operands[0]).element;
    if ((!IsInteger(from) && !IsPred(from)) || BitWidth(from) > 32) return;
    const int64_t span = int64_t{1} << (IsPred(from) ? 1 : BitWidth(from));
    const bool is_signed = !IsPred(from) && IsSigned(from);
    limits.any_lower.push_back(Sum::Number(is_signed ? -span / 2 : 0));
    limits.any_upper.push_back(Sum::Number((is_signed ? span / 2 : span) - 1));
  }

  // Whether the sum is surely a multiple of `unit`: x - x % unit is one, and so is a
  // minimum of two.
  bool IsMultiple(Sum sum, int64_t unit, int depth = 0) {
    if (unit == 1) return true;
    if (depth > 8) return false;
    const auto with = [&](const Sum::Term& term, Value other) {
      Sum replaced = sum;
      replaced.Add(Sum::Symbol(term.symbol), -term.coefficient);
      replaced.Add(SumOf(other), term.coefficient);
      return IsMultiple(std::move(replaced), unit, depth + 1);
    };
    const auto node_of = [&](const Sum::Term& term) {
      return term.symbol == kLane || term.coefficient % unit == 0 ? nullptr : NodeOf(term.symbol);
    };
    for (const Sum::Term& term : sum.terms) {
      const Node* const node = node_of(term);
      if (node == nullptr || node->op != Op::kIndexRem) continue;
      // x % d is x without a multiple of d.
      const auto divisor = ConstantOf(node->operands[1]);
      return divisor && *divisor % unit == 0 && with(term, node->operands[0]);
    }
    for (const Sum::Term& term : sum.terms) {
      const Node* const node = node_of(term);
      if (node == nullptr || node->op != Op::kElement) continue;
      if (node->opcode == Opcode::kMinimum || node->opcode == Opcode::kMaximum)
        return with(term, node->operands[0]) && with(term, node->operands[1]);
    }
    return sum.constant % unit == 0 &&
           std::all_of(sum.terms.begin(), sum.terms.end(),
                       [&](const Sum::Term& term) { return term.coefficient % unit == 0; });
  }

  // ---- facts ----

  // What `pred` tells of the lane at hand where it holds, or where it does not.
  void AddFacts(Value pred, Facts& facts, bool holds = true) {
    const Node* const node = NodeOf(pred);
    if (node == nullptr) return;
    if (node->op == Op::kSplat) return AddFacts(node->operands[0], facts, holds);
    if (node->op != Op::kElement) return;
    if (node->opcode == Opcode::kNot) return AddFacts(node->operands[0], facts, !holds);
    if (node->opcode == Opcode::kAnd && holds) {
      for (const Value operand : node->operands) AddFacts(operand, facts);
      return;
    }
    if (node->opcode != Opcode::kCompare ||
        kernel_.type(node->operands[0]).element != ElementType::kS64) {
      return;
    }
    Sum difference = SumOf(node->operands[0]);  // a - b
    difference.Add(SumOf(node->operands[1]), -1);
    Sum opposite;
    opposite.Add(difference, -1);
    switch (holds ? node->attrs.direction : Opposite(node->attrs.direction)) {
      case ComparisonDirection::kLt:
        difference.constant += 1;
        facts.push_back(difference);
        break;
      case ComparisonDirection::kLe: facts.push_back(difference); break;
      case ComparisonDirection::kGt:
        opposite.constant += 1;
        facts.push_back(opposite);
        break;
      case ComparisonDirection::kGe: facts.push_back(opposite); break;
      case ComparisonDirection::kEq:
        facts.push_back(difference);
        facts.push_back(opposite);
        break;
      case ComparisonDirection::kNe: break;
    }
  }

  // ---- proofs ----

  bool NotPositive(const Sum& sum) {
    steps_ = 0;
    return AtMostZero(sum, /*with_facts=*/true);
  }

  // A number that `sum` does not exceed, found by halving.
  std::optional<int64_t> Most(const Sum& sum) {
    const auto holds = [&](int64_t limit) {
      Sum rest = sum;
      rest.constant -= limit;
      steps_ = 0;
      return AtMostZero(rest, /*with_facts=*/false);
    };
    int64_t low = 0, high = 1;
    while (!holds(high)) {
      if (high > kHuge) return std::nullopt;
      low = high;
      high *= 16;
    }
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (holds(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return high;
  }

  // Whether sum <= 0: takes the newest symbol out by what bounds it.
  bool AtMostZero(const Sum& sum, bool with_facts) {
    if (sum.terms.empty()) return sum.constant <= 0;
    if (sum.IsHuge() || ++steps_ > kMostSteps) return false;
    if (with_facts && facts_ != nullptr && FollowsFromFact(sum)) return true;
    const Sum::Term newest = sum.terms.back();
    const Limits limits = LimitsOf(newest.symbol);
    const bool up = newest.coefficient > 0;
    const auto with = [&](const Sum& bound) {
      Sum next = sum;
      next.Add(Sum::Symbol(newest.symbol), -newest.coefficient);
      next.Add(bound, newest.coefficient);
      return AtMostZero(next, with_facts);
    };
    for (const Sum& bound : up ? limits.any_upper : limits.any_lower) {
      if (with(bound)) return true;
    }
    const auto& one_of = up ? limits.one_upper : limits.one_lower;
    return !one_of.empty() && std::all_of(one_of.begin(), one_of.end(), with);
  }

  // fact <= 0 with the same leading symbol: sum = k * fact + rest, so rest <= 0 is enough.
  bool FollowsFromFact(const Sum& sum) {
    for (const Sum& fact : *facts_) {
      if (fact.terms.empty()) continue;
      const Sum::Term lead = fact.terms.back();
      const auto same = std::find_if(sum.terms.begin(), sum.terms.end(),
                                     [&](const Sum::Term& t) { return t.symbol == lead.symbol; });
      if (same == sum.terms.end() || same->coefficient % lead.coefficient != 0) continue;
      const int64_t times = same->coefficient / lead.coefficient;
      if (times <= 0) continue;
      Sum rest = sum;
      rest.Add(fact, -times);
      if (AtMostZero(rest, /*with_facts=*/rest.terms.size() < sum.terms.size())) return true;
    }
    return false;
  }

  const Kernel& kernel_;
  const bool surely_runs_;
  std::vector<AccessProof> proofs_;
  absl::flat_hash_map<Value, const Node*> loop_of_;
  absl::flat_hash_map<Value, Limits> limits_;
  Limits lane_limits_;
  const Facts* facts_ = nullptr;
  int lanes_ = 1;
  int steps_ = 0;
};

}  // namespace

std::vector<AccessProof> ProveAccesses(const Kernel& kernel, int64_t task_count) {
  return Prover(kernel, task_count).Run();
}

}  // namespace hlo::cpu::tile
