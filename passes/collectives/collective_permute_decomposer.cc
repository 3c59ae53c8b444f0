#include "passes/collectives/collective_permute_decomposer.h"

#include <map>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "lib/analysis/device_groups.h"
#include "lib/analysis/reachability.h"
#include "lib/ir/send_recv_pairs.h"
#include "passes/rewrite.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

const DevicePairs& PairsOf(const Instruction& permute) {
  return permute.attrs<CollectivePermuteAttrs>().source_target_pairs;
}

// Whether what a device sends may come back to it.
bool HasRing(const DevicePairs& pairs) {
  std::map<int64_t, int64_t> next;
  for (const auto& [source, target] : pairs) next[source] = target;
  for (const auto& [source, target] : pairs) {
    int64_t at = target;
    for (size_t steps = 0; steps < pairs.size() && at != source; ++steps) {
      const auto it = next.find(at);
      if (it == next.end()) break;
      at = it->second;
    }
    if (at == source) return true;
  }
  return false;
}

// Whether `others` go from each device to the one beside it and `back`, one pair, closes the ring.
bool MakeRing(const DevicePairs& back, const DevicePairs& others) {
  if (back.size() != 1) return false;
  const auto last = static_cast<int64_t>(others.size());
  const bool is_up = back[0] == std::pair<int64_t, int64_t>(last, 0);
  if (!is_up && back[0] != std::pair<int64_t, int64_t>(0, last)) return false;
  for (int64_t i = 0; i < last; ++i) {
    const auto expected = is_up ? std::pair(i, i + 1) : std::pair(i + 1, i);
    if (others[static_cast<size_t>(i)] != expected) return false;
  }
  return true;
}

bool SendsStateOfLoop(const Instruction& permute) {
  const Instruction& operand = *permute.operand(0);
  return operand.opcode() == Opcode::kGetTupleElement &&
         operand.operand(0)->opcode() == Opcode::kParameter;
}

// The pairs of devices that a send or recv notes.
Groups NotedPairs(const Instruction& transfer) {
  const std::optional<SendRecvPairs> noted =
      ParseSendRecvPairs(FrontendAttribute(transfer, kSendRecvPairsAttribute));
  Groups pairs;
  for (const auto& [source, target] : noted.value_or(SendRecvPairs()))
    pairs.push_back({source, target});
  return pairs;
}

// The ids of those that wait for each other, as the text has them.
Groups MeetingsOf(const Instruction& collective) {
  if (collective.opcode() == Opcode::kSend || collective.opcode() == Opcode::kRecv)
    return NotedPairs(collective);
  Groups groups;
  if (collective.attrs_ptr().Is<CollectivePermuteAttrs>()) {
    for (const auto& [source, target] : PairsOf(collective)) groups.push_back({source, target});
  } else if (GroupModeOf(collective)) {
    groups = ReplicaGroupsOf(collective).Flatten();
  }
  return groups;
}

bool MayMeet(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kSend || opcode == Opcode::kRecv)
    return !instruction.attrs<ChannelAttrs>().is_host_transfer;
  return HasTrait(opcode, kCollective) && !HasTrait(opcode, kAsyncDone);
}

// Ids in sets; those that meet any id of a set belong to it.
class MeetingSets {
 public:
  void Add(const Groups& groups) {
    for (const std::vector<int64_t>& group : groups) {
      for (const int64_t id : group) Join(group[0], id);
    }
  }

  // Whether two ids are in one set here and there.
  bool MeetTwice(const MeetingSets& other) const {
    std::set<std::pair<size_t, size_t>> seen;
    for (const auto& [id, set] : set_of_) {
      const auto there = other.set_of_.find(id);
      if (there != other.set_of_.end() && !seen.insert({set, there->second}).second) return true;
    }
    return false;
  }

 private:
  void Join(int64_t a, int64_t b) {
    const size_t into = set_of_.emplace(a, next_).first->second;
    const size_t from = set_of_.emplace(b, into).first->second;
    if (into == next_) ++next_;
    if (into == from) return;
    for (auto& [id, set] : set_of_) {
      if (set == from) set = into;
    }
  }

  std::map<int64_t, size_t> set_of_;
  size_t next_ = 0;
};

std::string PairsText(const DevicePairs& pairs) {
  std::string text;
  for (const auto& [source, target] : pairs)
    text += fmt::format("{}{{{},{}}}", text.empty() ? "" : ",", source, target);
  return fmt::format("{{{}}}", text);
}

struct Transfer {
  Instruction *send, *recv, *send_done, *recv_done;
};

class Decomposer {
 public:
  Decomposer(Computation& computation, const CollectivePermuteDecomposerOptions& options,
             PassContext& context)
      : computation_(computation),
        is_pipelined_(options.pipeline_parallelism_opt_level == "enable"),
        threshold_(options.threshold_in_bytes),
        context_(context) {}

  absl::StatusOr<bool> Run() {
    const auto callers = computation_.callers();
    if (callers.size() != 1 || callers[0].caller->opcode() != Opcode::kWhile) return false;
    Choose(*callers[0].caller);
    if (permutes_.empty()) return false;
    const std::vector<Instruction*> conflicting = FindConflicting();
    std::vector<Transfer> transfers;
    for (Instruction* permute : permutes_) {
      if (!context_.MayRewrite()) break;
      context_.Passed(*permute, "becomes a send and a recv");
      context_.Count("decomposed");
      ASSIGN_OR_RETURN(const Transfer transfer, Decompose(permute));
      transfers.push_back(transfer);
    }
    if (transfers.empty()) return false;
    for (size_t i = 1; i < transfers.size(); ++i) {
      transfers[i].recv->AddControlPredecessor(transfers[i - 1].send);
      transfers[i].recv_done->AddControlPredecessor(transfers[i - 1].send_done);
    }
    LetWait(conflicting, transfers.back());
    if (is_pipelined_) {
      for (const Transfer& transfer : transfers) {
        SetStream(transfer.send);
        SetStream(transfer.recv);
      }
      for (Instruction* other : conflicting) SetStream(other);
    }
    return true;
  }

 private:
  bool MayDecompose(const Instruction& permute) const {
    if (permute.opcode() != Opcode::kCollectivePermute || !permute.shape().IsArray() ||
        permute.operand_count() != 1 || permute.has_control_edges())
      return false;
    if (!is_pipelined_ && permute.shape().byte_size() < threshold_) return false;
    if (is_pipelined_ && !SendsStateOfLoop(permute)) return false;
    if (!HasRing(PairsOf(permute))) return true;
    context_.Missed(permute, "its devices would wait for each other");
    return false;
  }

  void Choose(const Instruction& loop) {
    const bool is_body = loop.while_body() == &computation_;
    for (Instruction* permute : computation_.PostOrder()) {
      if (!MayDecompose(*permute)) continue;
      permutes_.push_back(permute);
      if (!is_body || second_ != nullptr || !SendsStateOfLoop(*permute)) continue;
      if (first_ == nullptr) {
        first_ = permute;
      } else if (MakeRing(PairsOf(*first_), PairsOf(*permute))) {
        second_ = permute;
      } else if (MakeRing(PairsOf(*permute), PairsOf(*first_))) {
        second_ = first_;
        first_ = permute;
      }
    }
    if (is_pipelined_ && permutes_.size() > 1) {
      permutes_ = {*absl::c_max_element(permutes_, [](const Instruction* a, const Instruction* b) {
        return PairsOf(*a).size() < PairsOf(*b).size();
      })};
    }
  }

  // The other collectives in which two of those meet that meet in the permutes, or in such
  // collectives: all of them together.
  std::vector<Instruction*> FindConflicting() const {
    MeetingSets met;
    for (const Instruction* permute : permutes_) met.Add(MeetingsOf(*permute));
    std::vector<Instruction*> left;
    for (Instruction* instruction : computation_.PostOrder()) {
      if (MayMeet(*instruction) && !absl::c_linear_search(permutes_, instruction))
        left.push_back(instruction);
    }
    std::vector<Instruction*> conflicting;
    for (size_t before = left.size() + 1; left.size() < before;) {
      before = left.size();
      std::erase_if(left, [&](Instruction* other) {
        const Groups groups = MeetingsOf(*other);
        MeetingSets sets;
        sets.Add(groups);
        if (!sets.MeetTwice(met)) return false;
        conflicting.push_back(other);
        met.Add(groups);
        return true;
      });
    }
    return conflicting;
  }

  Instruction* Made(Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    AttrsPtr attrs, const Instruction& permute, std::string_view suffix) {
    Instruction* const made = computation_.Add(opcode, shape, operands, std::move(attrs), {},
                                               fmt::format("{}-{}", permute.name(), suffix));
    made->set_metadata(permute.metadata());
    made->set_loc(permute.loc());
    return made;
  }

  void SetAttributes(const Instruction& permute, Instruction* half, bool with_pairs) const {
    auto& attributes = half->mutable_extras().frontend_attributes;
    if (with_pairs) {
      if (permute.extras() != nullptr) attributes = permute.extras()->frontend_attributes;
      attributes[std::string(kSendRecvPairsAttribute)] = PairsText(PairsOf(permute));
    }
    if (&permute == first_) attributes["_xla_send_recv_pipeline"] = "0";
    if (&permute == second_) attributes["_xla_send_recv_pipeline"] = "1";
  }

  static void SetStream(Instruction* instruction) {
    instruction->mutable_extras().frontend_attributes["_xla_gpu_collective_stream"] = "p2p";
  }

  absl::StatusOr<Transfer> Decompose(Instruction* permute) {
    const uint32_t first_new = computation_.module().id_limit();
    ChannelAttrs attrs;
    attrs.channel_id = permute->attrs<CollectivePermuteAttrs>().channel_id;
    const AttrsPtr channel = AttrsPtr::Make(ChannelAttrs(attrs));
    const Shape data = permute->operand(0)->shape(), token = Shape::Token();
    const Shape context = Shape::Scalar(ElementType::kU32);
    Instruction* const start =
        Made(Opcode::kAfterAll, token, {}, AttrsPtr(), *permute, "after-all");
    Transfer transfer;
    transfer.recv = Made(Opcode::kRecv, Shape::Tuple({data, context, token}), {start}, channel,
                         *permute, "recv");
    transfer.send = Made(Opcode::kSend, Shape::Tuple({data, context, token}),
                         {permute->operand(0), start}, channel, *permute, "send");
    transfer.recv_done = Made(Opcode::kRecvDone, Shape::Tuple({data, token}), {transfer.recv},
                              channel, *permute, "recv-done");
    transfer.send_done =
        Made(Opcode::kSendDone, token, {transfer.send}, channel, *permute, "send-done");
    Instruction* const result =
        Made(Opcode::kGetTupleElement, data, {transfer.recv_done},
             AttrsPtr::Make(GetTupleElementAttrs{0}), *permute, "recv-data");
    SetAttributes(*permute, transfer.recv, /*with_pairs=*/true);
    SetAttributes(*permute, transfer.send, /*with_pairs=*/true);
    SetAttributes(*permute, transfer.recv_done, /*with_pairs=*/false);
    SetAttributes(*permute, transfer.send_done, /*with_pairs=*/false);
    if (is_pipelined_) {
      transfer.send->AddControlPredecessor(transfer.recv_done);
    } else {
      transfer.send->AddControlPredecessor(transfer.recv);
      transfer.recv_done->AddControlPredecessor(transfer.send);
    }
    result->mutable_extras();
    ReplaceKeepingExtras(permute, result, first_new);
    result->mutable_extras().frontend_attributes.clear();
    return transfer;
  }

  // Lets `others` come after the last transfer, those aside that it needs.
  void LetWait(const std::vector<Instruction*>& others, const Transfer& last) {
    if (others.empty()) return;
    const Reachability reachability(computation_);
    for (Instruction* other : others) {
      if (!reachability.DependsOn(last.send_done, other))
        other->AddControlPredecessor(last.send_done);
    }
  }

  Computation& computation_;
  const bool is_pipelined_;
  const int64_t threshold_;
  PassContext& context_;
  std::vector<Instruction*> permutes_;
  Instruction* first_ = nullptr;  // to be pipelined, the one that closes a ring with `second_`
  Instruction* second_ = nullptr;
};

}  // namespace

absl::StatusOr<bool> CollectivePermuteDecomposer::Run(Module& module, PassContext& context) {
  return ChangesAny(
      context.NonFusionComputations(module, {Opcode::kCollectivePermute}),
      [&](Computation& computation) { return Decomposer(computation, options_, context).Run(); });
}

HLO_DEFINE_PASS(CollectivePermuteDecomposer)

}  // namespace hlo
