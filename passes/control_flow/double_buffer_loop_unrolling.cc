#include "passes/control_flow/double_buffer_loop_unrolling.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "lib/ir/async_chain.h"
#include "lib/support/decision.h"
#include "passes/control_flow/flatten_call_graph.h"
#include "passes/control_flow/loop_copies.h"
#include "passes/control_flow/loop_knowledge.h"
#include "passes/util/send_recv_iterations.h"

namespace hlo {
namespace {

constexpr int64_t kMostUnrolled = 10'000;  // instructions of one loop
constexpr int64_t kMostEdges = 10'000;     // for the order of two iterations

// A binary operation that folding may reach when its other operand becomes a constant, too.
bool MayFold(const Instruction& instruction) {
  return HasTrait(instruction.opcode(), kElementwise) && instruction.operand_count() == 2 &&
         absl::c_any_of(instruction.operands(),
                        [](const Instruction* operand) { return operand->IsConstant(); });
}

constexpr OpcodeSet kSendInSome = {Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart,
                                   Opcode::kSend, Opcode::kRecv};

// What meets other devices: a collective, by itself or asynchronously, or a transfer between them.
bool MeetsDevices(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kSend || opcode == Opcode::kRecv)
    return !instruction.attrs<ChannelAttrs>().is_host_transfer;
  if (opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) {
    const Instruction* const start = AsyncStartOf(instruction);
    return start != nullptr && MeetsDevices(*start);
  }
  if (opcode == Opcode::kAsyncStart || instruction.IsFusion()) {
    const std::vector<Instruction*> inside = instruction.call(0)->instruction_vector();
    return absl::c_any_of(inside, [](const Instruction* each) { return MeetsDevices(*each); });
  }
  return HasTrait(opcode, kCollective);
}

int64_t FloorOfHalf(int64_t value) { return value >> 1; }

// `original` and `copy` do every other iteration, `original` the first of them, or the second one
// of a loop whose first iteration is done before it.
void HalveSendRecvIterations(Instruction* original, Instruction* copy, bool is_peeled) {
  if (!kSendInSome.Has(original->opcode())) return;
  const int64_t skipped = is_peeled ? 1 : 0;
  ChangeSendRecvIterations(original, [&](int64_t first, int64_t last) {
    const int64_t end = FloorOfHalf(last - skipped);
    return std::pair(FloorOfHalf(first + 1 - skipped), is_peeled ? std::max<int64_t>(0, end) : end);
  });
  ChangeSendRecvIterations(copy, [&](int64_t first, int64_t last) {
    const int64_t begin = FloorOfHalf(first - skipped);
    return std::pair(is_peeled ? std::max<int64_t>(0, begin) : begin,
                     std::max<int64_t>(0, FloorOfHalf(last - 1 - skipped)));
  });
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
    for (Instruction* original : order) {
      if (original != body_.parameter(0))
        HalveSendRecvIterations(original, copies.at(original), is_peeled);
    }
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
    known_ = {.trip_count = 1};
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
      if (kSendInSome.Has(copy->opcode())) KeepSendRecvIteration(copy, 0);
      if (HasOtherEffects(*copy)) loop_->AddControlPredecessor(copy);
    }
    loop_->ReplaceOperand(0, copies.at(body_.root()));
  }

  // Copies the iteration that `order` does with `state` after the last one, whose result is the
  // root. Returns the copies, and sets `copies`.
  std::vector<Instruction*> AppendIteration(const std::vector<Instruction*>& order,
                                            const Instruction* state, std::string_view suffix,
                                            CopyMap& copies) {
    Instruction* last = body_.root();
    copies[state] = last;
    const std::vector<Instruction*> made = copier_.Copy(order, &body_, suffix, copies);
    KeepEffectsInOrder(order, made);
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
            MeetsDevices(*reader))
          continue;
        waiting.push_back(copy->second);
      }
    }
    absl::c_sort(waiting,
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
  if (loop.while_body()->root()->opcode() != Opcode::kTuple)
    return No("its body does not build its state");
  if (loop.while_body()->callers().size() > 1) return No("another loop has its body");
  const std::vector<Instruction*> tests = loop.while_condition()->instruction_vector();
  if (absl::c_any_of(tests, [](const Instruction* test) { return test->HasSideEffect(); }))
    return No("its condition has effects");
  return Yes();
}

bool HasCollectives(const Computation& body) {
  const std::vector<Instruction*> all = body.instruction_vector();
  return absl::c_any_of(all, [](const Instruction* instruction) {
    return HasTrait(instruction->opcode(), kCollective);
  });
}

}  // namespace

absl::StatusOr<bool> DoubleBufferLoopUnrolling::Run(Module& module, PassContext& context) {
  const bool is_full = options_.unroll_strategy == "full_unroll";
  const bool is_auto = options_.unroll_strategy == "auto";
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
      if (!context.Allowed(*loop, decision)) continue;
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
