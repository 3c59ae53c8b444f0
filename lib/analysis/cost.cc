#include "lib/analysis/cost.h"

#include <fmt/core.h>

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "lib/analysis/alias.h"
#include "lib/analysis/logical_buffers.h"
#include "lib/analysis/operations.h"
#include "lib/ir/call_order.h"
#include "lib/ir/updated_operands.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

// Neither reads nor writes memory.
bool IsFree(const Instruction& x) {
  return IsAlias(x) || x.opcode() == Opcode::kConstant || x.opcode() == Opcode::kParameter;
}

bool TakesSlice(Opcode opcode) {
  return opcode == Opcode::kSlice || opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather;
}

double MemoryBytes(Shape shape) {
  if (shape.IsArray()) return static_cast<double>(shape.byte_size());
  return shape.IsTuple() ? static_cast<double>(kPointerBytes * shape.element_count_of_tuple()) : 0;
}

// Tuples of what is computed elsewhere or not yet: only the table is written.
bool WritesTable(const Instruction& x) {
  static constexpr OpcodeSet kTables = {Opcode::kCall, Opcode::kConditional, Opcode::kRecv,
                                        Opcode::kSend, Opcode::kAsyncUpdate};
  return kTables.Has(x.opcode()) || HasTrait(x.opcode(), kAsyncStart);
}

double ResultBytes(const Instruction& x) {
  if (!x.shape().IsTuple() || WritesTable(x)) return MemoryBytes(x.shape());
  double bytes = 0;
  ForEachLeaf(x.shape(), [&bytes](Shape leaf, const ShapeIndex&) { bytes += MemoryBytes(leaf); });
  return bytes;
}

// The operand that is written over parts of `operand`; -1: none.
int UpdateOf(const Instruction& x, int operand) {
  const int updated = UpdatedOperandCount(x);
  if (operand >= updated) return -1;
  return x.opcode() == Opcode::kDynamicUpdateSlice ? 1 : updated + 1 + operand;
}

double BytesReadBy(const Instruction& reader, int operand, Updates updates) {
  const double whole = MemoryBytes(reader.operand(operand)->shape());
  if (operand == 0 && TakesSlice(reader.opcode()))
    return std::min(whole, MemoryBytes(reader.shape()));
  const int update = updates == Updates::kInPlace ? UpdateOf(reader, operand) : -1;
  if (update < 0) return whole;
  const bool combines = reader.opcode() == Opcode::kScatter;
  return combines ? MemoryBytes(reader.operand(update)->shape()) : 0;
}

double BytesWrittenTo(const Instruction& output, Updates updates) {
  if (updates == Updates::kCopy || UpdateOf(output, 0) < 0) return ResultBytes(output);
  double bytes = 0;
  for (int i = 0; UpdateOf(output, i) >= 0; ++i)
    bytes += MemoryBytes(output.operand(UpdateOf(output, i))->shape());
  return bytes;
}

// What computations that others call cost for one element; looked up only.
using BodyCosts = absl::flat_hash_map<const Computation*, Cost>;

Cost SumOf(const Computation& body, const BodyCosts& known) {
  Cost sum;
  std::vector<Cost> applied;
  for (const Instruction* inside : body.instructions()) {
    applied.clear();
    for (const Computation* callee : inside->calls()) applied.push_back(known.at(callee));
    const Cost cost = OperationsOf(*inside, applied);
    sum.flops += cost.flops;
    sum.transcendentals += cost.transcendentals;
  }
  return sum;
}

// Each called computation is looked at once, however often and however deep it is called.
Cost CostOfBody(const Computation& body) {
  BodyCosts known;
  if (body.MayCall()) {
    for (const Computation* callee : CalleesOf(body)) known[callee] = SumOf(*callee, known);
  }
  return SumOf(body, known);
}

}  // namespace

Cost CostOf(const Instruction& x) {
  std::vector<Cost> applied;
  if (AppliesComputations(x)) {
    for (const Computation* callee : x.calls()) applied.push_back(CostOfBody(*callee));
  }
  Cost cost = OperationsOf(x, applied);
  cost.bytes = BytesWritten(x);
  for (int i = 0; i < x.operand_count(); ++i) cost.bytes += BytesRead(x, i);
  return cost;
}

double BytesRead(const Instruction& x, int operand, Updates updates) {
  if (IsFree(x)) return 0;
  if (!x.IsFusion()) return BytesReadBy(x, operand, updates);
  const Computation& body = *x.fused_computation();
  if (operand >= body.parameter_count()) return 0;
  const Instruction& parameter = *body.parameter(operand);
  double bytes = 0;
  for (const Use& use : parameter.uses())
    bytes += BytesReadBy(*use.user, use.operand_index, updates);
  return std::min(bytes, MemoryBytes(parameter.shape()));
}

double BytesWritten(const Instruction& x, Updates updates) {
  if (IsFree(x)) return 0;
  if (!x.IsFusion()) return BytesWrittenTo(x, updates);
  const Instruction& root = *x.fused_computation()->root();
  if (root.opcode() != Opcode::kTuple) return BytesWrittenTo(root, updates);
  double bytes = 0;
  for (const Instruction* output : root.operands()) bytes += BytesWrittenTo(*output, updates);
  return bytes;
}

// ---- classes ----

CostClass CostClassOf(Opcode opcode) {
  using enum CostClass;
  static constexpr CostClass kClasses[] = {
#define HLO_OP(Name, text, operands, calls, attributes, shape_rule, types, cost, ...) cost,
#include "lib/ops/ops.def"
  };
  return kClasses[static_cast<size_t>(opcode)];
}

bool IsCostly(const Instruction& x) {
  // Processors have roots as instructions.
  const bool is_root = x.opcode() == Opcode::kSqrt || x.opcode() == Opcode::kRsqrt;
  if (HasTrait(x.opcode(), kTranscendental)) return !is_root;
  // Integer division has no vector instruction.
  return x.opcode() == Opcode::kRemainder ||
         (x.opcode() == Opcode::kDivide && IsInteger(x.shape().element_type()));
}

// ---- platforms ----

absl::Span<const PlatformRates> AllPlatformRates() {
  // A core with vectors of 256 bits, as measured on kernels of one thread; a device with 132
  // multiprocessors of 128 lanes at 2 GHz, as its data sheet says.
  static constexpr PlatformRates kRates[] = {
      {.platform = "cpu",
       .lanes = 8,
       .flops = 1e9 / 0.3,
       .transcendentals = 1e9 / 6,
       .bytes = 25e9},
      {.platform = "gpu",
       .lanes = 132 * 128,
       .flops = 4e9,
       .transcendentals = 4e9 / 16,
       .bytes = 4.8e12},
  };
  return kRates;
}

const PlatformRates& RatesOf(std::string_view platform) {
  const absl::Span<const PlatformRates> all = AllPlatformRates();
  const auto it = std::find_if(all.begin(), all.end(), [platform](const PlatformRates& rates) {
    return rates.platform == platform;
  });
  HLO_CHECK(it != all.end());
  return *it;
}

double SecondsOf(const Cost& cost, const PlatformRates& rates, double lanes) {
  return (cost.flops / rates.flops + cost.transcendentals / rates.transcendentals) / lanes +
         cost.bytes / rates.bytes;
}

// ---- text ----

namespace {

std::string BytesText(const Instruction& x) {
  std::string text;
  for (int i = 0; i < x.operand_count(); ++i)
    text += fmt::format("{}{}", i == 0 ? " = " : " + ", BytesRead(x, i));
  return text + fmt::format("{}{} written", text.empty() ? " = " : " read, ", BytesWritten(x));
}

}  // namespace

std::string CostsToString(const Module& module) {
  std::string text;
  for (const Computation* computation : module.NonFusionComputations()) {
    text += fmt::format("{}:\n", computation->name());
    Cost sum;
    for (const Instruction* instruction : computation->SequenceOrPostOrder()) {
      const Cost cost = CostOf(*instruction);
      text += fmt::format("  {}: {} flops, {} transcendentals, {} bytes{}\n", instruction->name(),
                          cost.flops, cost.transcendentals, cost.bytes,
                          cost.bytes > 0 ? BytesText(*instruction) : "");
      sum.flops += cost.flops;
      sum.transcendentals += cost.transcendentals;
      sum.bytes += cost.bytes;
    }
    text += "  together:";
    for (const PlatformRates& rates : AllPlatformRates()) {
      text += fmt::format("{} {} {:.3g} us", &rates == AllPlatformRates().data() ? "" : ",",
                          rates.platform, SecondsOf(sum, rates, rates.lanes) * 1e6);
    }
    text += "\n";
  }
  return text;
}

}  // namespace hlo
