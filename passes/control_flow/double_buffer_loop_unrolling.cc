#include "passes/control_flow/double_buffer_loop_unrolling.h"

#include <algorithm>
#include <charconv>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/trip_count.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/decision.h"
#include "passes/control_flow/flatten_call_graph.h"
#include "passes/control_flow/loop_copies.h"
#include "passes/control_flow/loop_knowledge.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

constexpr int64_t kMostUnrolled = 10'000;  // instructions of one loop
constexpr int64_t kMostEdges = 10'000;     // for the order of two iterations

// A binary operation that folding may reach when its other operand becomes a constant, too.
bool MayFold(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kElementwise) && instruction.operand_count() == 2 &&
         std::any_of(instruction.operands().begin(), instruction.operands().end(),
                     [](const Instruction* operand) { return operand->IsConstant(); });
}

// In which iterations each pair of devices sends: from the first to the second number, in none if
// that is smaller.
using ValidIterations = std::vector<std::pair<int64_t, int64_t>>;
constexpr std::string_view kValidIterations = "_xla_send_recv_validation";

bool HasValidIterations(const Instruction& instruction) {
  constexpr OpcodeSet kSends = {Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart,
                                Opcode::kSend, Opcode::kRecv};
  return kSends.Has(instruction.opcode()) &&
         !FrontendAttribute(instruction, kValidIterations).empty();
}

// "{{0,3},{1,4}}"; nothing if it is something else.
ValidIterations ParseValidIterations(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < text.size();) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error == std::errc()) {
      numbers.push_back(number);
      at = static_cast<size_t>(end - text.data());
    } else {
      ++at;
    }
  }
  ValidIterations pairs;
  if (numbers.size() % 2 != 0) return pairs;
  for (size_t i = 0; i < numbers.size(); i += 2) pairs.push_back({numbers[i], numbers[i + 1]});
  return pairs;
}

void SetValidIterations(Instruction* instruction, const ValidIterations& pairs) {
  std::string text;
  for (const auto& [from, to] : pairs)
    text += fmt::format("{}{{{},{}}}", text.empty() ? "" : ",", from, to);
  std::string& value =
      instruction->mutable_extras().frontend_attributes[std::string(kValidIterations)];
  const std::string_view quote = value.starts_with('"') ? "\"" : "";
  value = fmt::format("{0}{{{1}}}{0}", quote, text);
}

int64_t HalfDown(int64_t x) { return x >= 0 ? x / 2 : -((1 - x) / 2); }

// Of the copy of the first iteration, in front of the loop.
void KeepFirstIteration(Instruction* copy) {
  if (!HasValidIterations(*copy)) return;
  ValidIterations pairs = ParseValidIterations(FrontendAttribute(*copy, kValidIterations));
  if (pairs.empty()) return;
  for (auto& [from, to] : pairs) {
    const bool is_valid = from <= 0 && to >= 0;
    from = is_valid ? 0 : 1;
    to = 0;
  }
  SetValidIterations(copy, pairs);
}

// Of what does the first and of what does the second of two iterations at a time.
void HalveIterations(Instruction* first, Instruction* second, bool is_peeled) {
  if (!HasValidIterations(*first)) return;
  const ValidIterations pairs = ParseValidIterations(FrontendAttribute(*first, kValidIterations));
  if (pairs.empty()) return;
  ValidIterations of_first, of_second;
  for (const auto& [from, to] : pairs) {
    const auto at_least_0 = [](int64_t x) { return std::max<int64_t>(x, 0); };
    if (is_peeled) {
      of_first.push_back({HalfDown(from), at_least_0(HalfDown(to - 1))});
      of_second.push_back({at_least_0(HalfDown(from - 1)), at_least_0(HalfDown(to - 2))});
    } else {
      of_first.push_back({HalfDown(from + 1), HalfDown(to)});
      of_second.push_back({HalfDown(from), at_least_0(HalfDown(to - 1))});
    }
  }
  SetValidIterations(first, of_first);
  SetValidIterations(second, of_second);
}

class LoopUnrolling {
 public:
  LoopUnrolling(Instruction* loop, LoopKnowledge known, IterationCopier& copier)
      : loop_(loop), known_(std::move(known)), copier_(copier), body_(*loop->while_body()) {}

  // Two iterations at a time.
  void Double() {
    int64_t count = *known_.trip_count;
    const bool is_peeled = count % 2 != 0;
    if (is_peeled) {
      Peel();
      --count;
      if (known_.init && known_.step) *known_.init += *known_.step;
    }
    const std::vector<Instruction*> order = body_.PostOrder();
    CopyMap copies;
    AppendIteration(order, body_.parameter(0), ".double_buffer_clone", copies);
    for (Instruction* original : order) HalveIterations(original, copies.at(original), is_peeled);
    known_.trip_count = count / 2;
    if (known_.step) *known_.step *= 2;
    WriteKnowledge();
  }

  // All iterations at once.
  void Full() {
    std::vector<Instruction*> order = body_.PostOrder();
    const Instruction* state = body_.parameter(0);
    for (int64_t k = 1; k < *known_.trip_count; ++k) {
      const Instruction* next = body_.root();
      CopyMap copies;
      order = AppendIteration(order, state, ".full_unroll_clone", copies);
      state = next;
    }
    if (known_.step) *known_.step *= *known_.trip_count;
    known_.trip_count = 1;
    WriteKnowledge();
  }

 private:
  // The first iteration, in front of the loop.
  void Peel() {
    CopyMap copies;
    copies[body_.parameter(0)] = loop_->operand(0);
    for (Instruction* copy :
         copier_.Copy(body_.PostOrder(), loop_->parent(), ".peeled_double_buffer", copies)) {
      SetOriginInIteration(copy, *loop_, 0);
      KeepFirstIteration(copy);
    }
    loop_->ReplaceOperand(0, copies.at(body_.root()));
  }

  // Copies the iteration that `order` does with `state` after the last one, whose result is the
  // root. Returns the copies.
  std::vector<Instruction*> AppendIteration(const std::vector<Instruction*>& order,
                                            const Instruction* state, std::string_view suffix,
                                            CopyMap& copies) {
    Instruction* last = body_.root();
    copies[state] = last;
    const std::vector<Instruction*> made = copier_.Copy(order, &body_, suffix, copies);
    body_.set_root(copies.at(last));
    WaitForLast(*state, *last, copies);
    return made;
  }

  // What reads the state waits for all that the last iteration has made.
  static void WaitForLast(const Instruction& state, const Instruction& last,
                          const CopyMap& copies) {
    std::vector<Instruction*> waiting;
    for (const Instruction* read : state.users()) {
      if (!copies.contains(read)) continue;
      for (const Instruction* reader : read->users()) {
        const auto copy = copies.find(reader);
        if (copy == copies.end() || copy->second == &last || MayFold(*reader) ||
            HasTrait(reader->opcode(), kCollective))
          continue;
        waiting.push_back(copy->second);
      }
    }
    std::sort(waiting.begin(), waiting.end(),
              [](const Instruction* a, const Instruction* b) { return a->id() < b->id(); });
    waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
    if (static_cast<int64_t>(waiting.size()) * last.operand_count() > kMostEdges) return;
    for (Instruction* copy : waiting) {
      for (Instruction* value : last.operands()) copy->AddControlPredecessor(value);
    }
  }

  void WriteKnowledge() { loop_->mutable_extras().backend_config = known_.ToConfig(); }

  Instruction* loop_;
  LoopKnowledge known_;
  IterationCopier& copier_;
  Computation& body_;
};

Decision MayUnroll(const Instruction& loop, const LoopKnowledge& known) {
  if (!known.trip_count) return No("its backend config does not say how often it runs");
  if (*known.trip_count < 2) return No("it runs {} times", *known.trip_count);
  if (const std::optional<int64_t> computed = TripCount(loop);
      computed && *computed != *known.trip_count)
    return No("it runs {} times, and its backend config says {}", *computed, *known.trip_count);
  if (loop.while_body()->root()->opcode() != Opcode::kTuple)
    return No("its body does not build its state");
  if (loop.while_body()->callers().size() > 1) return No("another loop has its body");
  if (!MayCopyIterations(loop)) return No("it sends, receives or has other effects");
  return Yes();
}

bool HasCollectives(const Computation& body) {
  const std::vector<Instruction*> all = body.instruction_vector();
  return std::any_of(all.begin(), all.end(), [](const Instruction* instruction) {
    return HasTrait(instruction->opcode(), kCollective);
  });
}

}  // namespace

absl::StatusOr<bool> DoubleBufferLoopUnrolling::Run(Module& module, PassContext& context) {
  const std::string& strategy = options_.unroll_strategy;
  const bool is_full = strategy == "full_unroll", is_auto = strategy == "auto";
  if (!is_full && !is_auto && strategy != "double_buffer")
    return Error("unroll_strategy: expected double_buffer, full_unroll or auto, got `{}`",
                 strategy);
  bool changed = false;
  IterationCopier copier(module);
  for (Computation* computation : context.NonFusionComputations(module, {Opcode::kWhile})) {
    for (Instruction* loop : computation->PostOrder()) {
      if (loop->opcode() != Opcode::kWhile) continue;
      const Computation& body = *loop->while_body();
      if (is_auto && !HasCollectives(body)) continue;
      LoopKnowledge known = LoopKnowledge::FromConfig(loop->backend_config());
      Decision decision = MayUnroll(*loop, known);
      if (decision && is_full && body.instruction_count() > kMostUnrolled / *known.trip_count)
        decision = No("all its iterations together are too many instructions");
      if (!decision) {
        context.Missed(*loop, decision.reason());
        continue;
      }
      if (!context.MayRewrite()) return changed;
      context.Passed(*loop, "its body does {} iterations", is_full ? *known.trip_count : 2);
      LoopUnrolling unrolling(loop, std::move(known), copier);
      is_full ? unrolling.Full() : unrolling.Double();
      context.Count(is_full ? "unrolled" : "doubled");
      changed = true;
    }
  }
  if (changed) RETURN_IF_ERROR(RunPart(FlattenCallGraph(), module, context).status());
  return changed;
}

HLO_DEFINE_PASS(DoubleBufferLoopUnrolling)

}  // namespace hlo
