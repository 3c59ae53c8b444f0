// Mode `devices`. For every module of several devices (programs/device_program.h):
//   - the interpreter and the CPU run it on all of them, each device a thread, to the same bits
//   - and to those of a reference that has no threads: it takes all devices through the entry one
//     instruction at a time, and does collectives element by element
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "backends/registry.h"
#include "lib/analysis/device_groups.h"
#include "lib/eval/device_group.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/send_recv_pairs.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "lib/types/literal_compare.h"
#include "lib/types/shape_util.h"
#include "parser/parser.h"
#include "tools/fuzz/fuzz_mode.h"
#include "tools/fuzz/module_limits.h"
#include "tools/fuzz/rounding.h"
#include "tools/support/leaves.h"
#include "tools/support/random_arguments.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

using OneByDevice = std::vector<Literal>;

constexpr int64_t kMostWork = 1'000'000;
constexpr int64_t kMostIterations = 200;
constexpr int64_t kMostOfEach = 8;  // replicas, and partitions

// An array whose element at each index is one of another literal.
struct ElementAt {
  const Literal* literal;
  DimVec index;
};
Literal ByElements(Shape shape, const std::function<ElementAt(const DimVec&)>& at) {
  Literal result(Shape::Array(shape.element_type(), shape.dims()));
  const auto bytes = static_cast<size_t>(ByteSize(shape.element_type()));
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const ElementAt from = at(MultiIndex(i, shape.dims()));
    const int64_t j = LinearIndex(from.index, from.literal->shape().dims());
    std::memcpy(result.mutable_data() + static_cast<size_t>(i) * bytes,
                from.literal->data() + static_cast<size_t>(j) * bytes, bytes);
  }
  return result;
}

// All devices, one instruction after the other.
class LockStep {
 public:
  explicit LockStep(const Module& module)
      : module_(module),
        partitions_(module.config().num_partitions),
        devices_(module.config().replica_count * partitions_) {
    for (int64_t device = 0; device < devices_; ++device) {
      EvalOptions options;
      options.max_work = kMostWork;
      options.max_loop_iterations = kMostIterations;
      options.replica_id = device / partitions_;
      options.partition_id = device % partitions_;
      evaluators_.push_back(std::make_unique<Evaluator>(options));
    }
  }

  // kUnimplemented: it knows no such instruction.
  absl::StatusOr<OneByDevice> Run(const std::vector<std::vector<Literal>>& arguments) {
    for (const Instruction* instruction : module_.entry()->SequenceOrPostOrder()) {
      OneByDevice& values = values_[instruction];
      if (instruction->opcode() == Opcode::kParameter) {
        for (const auto& own : arguments)
          values.push_back(own[static_cast<size_t>(instruction->parameter_number())]);
        continue;
      }
      RETURN_IF_ERROR(Step(*instruction, values));
    }
    return values_.at(module_.entry()->root());
  }

 private:
  const Literal& Of(const Instruction& user, int operand, int64_t device) const {
    return values_.at(user.operand(operand))[static_cast<size_t>(device)];
  }

  absl::Status Step(const Instruction& instruction, OneByDevice& values) {
    const Opcode opcode = instruction.opcode();
    for (int64_t device = 0; device < devices_; ++device) {
      absl::StatusOr<Literal> value;
      if (opcode == Opcode::kSend || opcode == Opcode::kSendDone || opcode == Opcode::kRecv) {
        value = Literal(instruction.shape());
      } else if (opcode == Opcode::kRecvDone) {
        value = Received(instruction, device);
      } else if (opcode == Opcode::kAllReduceDone) {
        value = Of(instruction, 0, device);
      } else if (kOperandsKeepingDones.Has(opcode)) {
        value = Of(instruction, 0, device).element(1);
      } else if (HasTrait(opcode, kCollective)) {
        value = Exchanged(instruction, device);
      } else {
        std::vector<Literal> operands;
        for (int i = 0; i < instruction.operand_count(); ++i)
          operands.push_back(Of(instruction, i, device));
        value =
            evaluators_[static_cast<size_t>(device)]->EvaluateInstruction(instruction, operands);
      }
      if (!value.ok()) return value.status();
      values.push_back(*std::move(value));
    }
    return absl::OkStatus();
  }

  // Who sends to the device, by pairs of replicas, or partitions; -1: nobody, or an absent one,
  // which the verifier lets pass where there is one replica, or partition.
  int64_t SourceOf(const std::vector<std::pair<int64_t, int64_t>>& pairs, bool by_partition,
                   int64_t device) const {
    for (const auto& [source, target] : pairs) {
      if (source < 0 || source >= (by_partition ? partitions_ : devices_ / partitions_)) continue;
      if (by_partition ? target == device % partitions_ : target == device / partitions_)
        return by_partition ? device / partitions_ * partitions_ + source
                            : source * partitions_ + device % partitions_;
    }
    return -1;
  }

  // By the pairs of the receive; those of its recv-done say nothing. It knows no channels where
  // devices may wait for ever, or for one of several: send and receive must be the only ones, of
  // the same pairs, which name each target once.
  absl::StatusOr<Literal> Received(const Instruction& done, int64_t device) const {
    const Instruction& receive = *done.operand(0);
    const auto pairs = PairsOf(receive);
    if (receive.opcode() != Opcode::kRecv || !pairs) return absl::UnimplementedError("no pairs");
    std::set<int64_t> targets;
    for (const auto& [source, target] : *pairs) {
      if (!targets.insert(target).second) return absl::UnimplementedError("a target twice");
      if (source < 0 || source >= (partitions_ > 1 ? partitions_ : devices_))
        return absl::UnimplementedError("an absent source");
    }
    const Instruction* send = nullptr;
    for (const Instruction* other : module_.entry()->instructions()) {
      if (!kSendRecvStarts.Has(other->opcode()) ||
          other->attrs<ChannelAttrs>().channel_id != receive.attrs<ChannelAttrs>().channel_id ||
          other == &receive)
        continue;
      if (other->opcode() == Opcode::kRecv || send != nullptr)
        return absl::UnimplementedError("a channel of several transfers");
      send = other;
    }
    if (send == nullptr || PairsOf(*send) != pairs) return absl::UnimplementedError("no such send");
    const int64_t source = SourceOf(*pairs, partitions_ > 1, device);
    Literal value(done.shape().element(0));
    if (source >= 0) value = Of(*send, 0, source);
    if (value.shape() != done.shape().element(0)) return absl::UnimplementedError("another shape");
    return Literal::Tuple({std::move(value), Literal::Token()});
  }

  static std::optional<SendRecvPairs> PairsOf(const Instruction& transfer) {
    const std::string* const text = FindFrontendAttribute(transfer, kSendRecvPairsAttribute);
    return text == nullptr ? std::nullopt : ParseSendRecvPairs(*text);
  }

  absl::StatusOr<Literal> Exchanged(const Instruction& inst, int64_t device) {
    const bool is_exchange_of_arrays = inst.opcode() == Opcode::kAllToAll && inst.shape().IsTuple();
    if (inst.operand_count() != 1 && !is_exchange_of_arrays)
      return absl::UnimplementedError("several arrays, or an array in place");
    const Literal& own = Of(inst, 0, device);
    if (kPermutes.Has(inst.opcode())) {
      const auto& attrs = inst.attrs<CollectivePermuteAttrs>();
      const int64_t source =
          SourceOf(attrs.source_target_pairs, attrs.channel_id.has_value(), device);
      Literal value = source < 0 ? Literal(own.shape()) : Of(inst, 0, source);
      if (inst.opcode() == Opcode::kCollectivePermute) return value;
      return Literal::Tuple({own, std::move(value)});
    }
    for (const std::vector<int64_t>& group : DeviceGroups(inst)) {
      const auto place = std::find(group.begin(), group.end(), device);
      if (place != group.end()) return InGroup(inst, group, place - group.begin());
    }
    return absl::UnimplementedError("a device in no group");
  }

  absl::StatusOr<Literal> InGroup(const Instruction& inst, const std::vector<int64_t>& group,
                                  int64_t self) {
    const auto size = std::ssize(group);
    const auto member = [&](int64_t m, int operand = 0) -> const Literal& {
      return Of(inst, operand, group[static_cast<size_t>(m)]);
    };
    const Literal& own = member(self);
    const Opcode opcode = inst.opcode();
    if (!Fits(inst, own.shape(), size)) return absl::UnimplementedError("groups of another size");
    if (opcode == Opcode::kCollectiveBroadcast) return member(0);
    if (kAllReduces.Has(opcode)) {
      return Reduced(inst, own.shape(), size, [&](int64_t m, const DimVec& index) {
        return ElementAt{&member(m), index};
      });
    }
    if (opcode == Opcode::kReduceScatter) {
      const auto d = static_cast<size_t>(inst.attrs<ReduceScatterAttrs>().dimensions.value);
      const int64_t share = own.shape().dims()[d] / size;
      return Reduced(inst, inst.shape(), size, [&](int64_t m, DimVec index) {
        index[d] += self * share;
        return ElementAt{&member(m), index};
      });
    }
    if (kAllGathers.Has(opcode)) {
      const auto d = static_cast<size_t>(inst.attrs<AllGatherAttrs>().dimensions.value);
      const bool is_start = inst.opcode() == Opcode::kAllGatherStart;
      const int64_t share = own.shape().dims()[d];
      Literal all =
          ByElements(is_start ? inst.shape().element(1) : inst.shape(), [&](DimVec index) {
            const Literal& from = member(index[d] / share);
            index[d] %= share;
            return ElementAt{&from, index};
          });
      return is_start ? Literal::Tuple({own, std::move(all)}) : all;
    }
    if (opcode == Opcode::kAllToAll) {
      const auto& dimensions = inst.attrs<AllToAllAttrs>().dimensions;
      if (!dimensions.has_value()) {
        std::vector<Literal> received;
        for (int64_t m = 0; m < size; ++m) received.push_back(member(m, static_cast<int>(self)));
        return Literal::Tuple(std::move(received));
      }
      const auto d = static_cast<size_t>(dimensions->value);
      const int64_t share = own.shape().dims()[d] / size;
      return ByElements(inst.shape(), [&](DimVec index) {
        const Literal& from = member(index[d] / share);
        index[d] = index[d] % share + self * share;
        return ElementAt{&from, index};
      });
    }
    return absl::UnimplementedError("a collective of another kind");
  }

  // Whether the shapes are those of groups of so many devices: what the verifier does not ask of
  // groups of one, nor of regions, which may be of wider floats.
  static bool Fits(const Instruction& inst, Shape own, int64_t size) {
    const auto along = [&](int64_t dim, Shape part, Shape whole) {
      return part.dims()[static_cast<size_t>(dim)] * size == whole.dims()[static_cast<size_t>(dim)];
    };
    const bool reduces = kAllReduces.Has(inst.opcode()) || inst.opcode() == Opcode::kReduceScatter;
    if (reduces && inst.to_apply()->parameter(0)->shape().element_type() != own.element_type())
      return false;
    if (inst.opcode() == Opcode::kReduceScatter)
      return along(inst.attrs<ReduceScatterAttrs>().dimensions.value, inst.shape(), own);
    if (kAllGathers.Has(inst.opcode())) {
      const bool is_start = inst.opcode() == Opcode::kAllGatherStart;
      return along(inst.attrs<AllGatherAttrs>().dimensions.value, own,
                   is_start ? inst.shape().element(1) : inst.shape());
    }
    if (inst.opcode() != Opcode::kAllToAll) return true;
    const auto& dimensions = inst.attrs<AllToAllAttrs>().dimensions;
    if (!dimensions.has_value()) return inst.operand_count() == size;
    return own.dims()[static_cast<size_t>(dimensions->value)] % size == 0;
  }

  // Element by element, in the order of the group.
  absl::StatusOr<Literal> Reduced(const Instruction& inst, Shape shape, int64_t members,
                                  const std::function<ElementAt(int64_t, DimVec)>& at) {
    Literal result = ByElements(shape, [&](const DimVec& index) { return at(0, index); });
    const auto bytes = static_cast<size_t>(ByteSize(shape.element_type()));
    for (int64_t i = 0; i < result.element_count(); ++i) {
      const DimVec index = MultiIndex(i, shape.dims());
      const auto scalar = [&](int64_t m) {
        return ByElements(Shape::Scalar(shape.element_type()),
                          [&](const DimVec&) { return at(m, index); });
      };
      Literal sum = scalar(0);
      for (int64_t m = 1; m < members; ++m) {
        ASSIGN_OR_RETURN(
            sum, evaluators_[0]->Evaluate(*inst.to_apply(), std::vector<Literal>{sum, scalar(m)}));
      }
      std::memcpy(result.mutable_data() + static_cast<size_t>(i) * bytes, sum.data(), bytes);
    }
    return result;
  }

  const Module& module_;
  const int64_t partitions_, devices_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
  std::map<const Instruction*, OneByDevice> values_;
};

// Whether devices meet in computations that are called, where the reference does not go.
bool MeetsOutsideEntry(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const Opcode opcode = instruction->opcode();
      if (computation != module.entry() &&
          (HasTrait(opcode, kCollective) || kSendRecvStarts.Has(opcode)))
        return true;
    }
  }
  return false;
}

// Sums of floats in an order of their own: platforms need not have the same bits. (Those over
// devices have one order everywhere.)
bool HasRoundedSums(const Module& module) {
  constexpr OpcodeSet kOverDevices = {Opcode::kAllReduce, Opcode::kReduceScatter};
  return AnyInstruction(module, [&](const Instruction& instruction) {
    if (!MayRoundOtherwise(instruction) || kOverDevices.Has(instruction.opcode()) ||
        instruction.operand_count() == 0)
      return false;
    const Shape shape = instruction.operand(0)->shape();
    return !shape.IsArray() || IsFloat(ComponentType(shape.element_type()));
  });
}

// Empty: all bits are the same, NaN aside.
std::string Differs(std::string_view who, const OneByDevice& got, const OneByDevice& want) {
  for (size_t device = 0; device < want.size(); ++device) {
    const std::vector<Literal> a = ArrayLeaves(got[device]), b = ArrayLeaves(want[device]);
    for (size_t k = 0; k < b.size(); ++k) {
      if (!Compare(a[k], b[k], Tolerance()).ok())
        return fmt::format("{} computes something else: output {} of device {}", who, k, device);
    }
  }
  return "";
}

absl::StatusOr<OneByDevice> OnPlatform(std::string_view platform, const Module& module,
                                       const std::vector<std::vector<Literal>>& arguments) {
  ASSIGN_OR_RETURN(Backend * backend, FindBackend(platform));
  CompileOptions compile;
  compile.threads = 1;
  compile.denormals = Denormals::kKeep;
  compile.cpu.kernels = CpuKernels::kEvaluate;
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                   backend->Compile(module.Clone(), compile));
  const int64_t partitions = module.config().num_partitions;
  return RunOnDevices(module, [&](int64_t replica, int64_t partition, Communicator& communicator) {
    RunOptions run;
    run.replica_id = replica;
    run.partition_id = partition;
    run.communicator = &communicator;
    return executable->Run(arguments[static_cast<size_t>(replica * partitions + partition)], run);
  });
}

}  // namespace

std::string CheckDevices(std::string_view input) {
  const absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(std::string(input));
  if (!parsed.ok()) return "";
  const Module& module = **parsed;
  const ModuleConfig& config = module.config();
  if (module.entry() == nullptr || !VerifyRunnable(module).ok() || IsLarge(module) ||
      !RunsOnSeveralDevices(module) || config.replica_count < 1 ||
      config.replica_count > kMostOfEach || config.num_partitions < 1 ||
      config.num_partitions > kMostOfEach || NamesAbsentDevices(module) ||
      MeetsOutsideEntry(module) || HasRoundedSums(module))
    return "";
  std::vector<std::vector<Literal>> arguments;
  for (int64_t device = 0; device < config.replica_count * config.num_partitions; ++device)
    arguments.push_back(RandomArguments(module, static_cast<uint64_t>(device + 1)));
  const absl::StatusOr<OneByDevice> expected = LockStep(module).Run(arguments);
  if (!expected.ok()) return "";
  for (const std::string_view platform : {"interpreter", "cpu"}) {
    const absl::StatusOr<OneByDevice> actual = OnPlatform(platform, module, arguments);
    if (!actual.ok()) {
      return fmt::format("{} cannot run it: {}", platform,
                         DiagnosticsOf(actual.status()).front().message);
    }
    if (std::string difference = Differs(platform, *actual, *expected); !difference.empty())
      return difference;
  }
  return "";
}

}  // namespace hlo
