#include "backends/cpu/kernel_code.h"

#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "backends/cpu/tile/bounds.h"
#include "backends/cpu/tile/verifier.h"
#include "lib/ir/module.h"
#include "lib/support/diagnostic.h"
#include "lib/types/shape_util.h"

namespace hlo::cpu {

struct KernelCode::Checked {
  tile::Kernel kernel;
  const Instruction& instruction;
  std::optional<tile::Evaluation> evaluation;
};

namespace {

// "operand 1 `x`", "result", "result 2", as buffers of kernels are numbered.
std::string NameOfBuffer(const Instruction& instruction, const tile::Kernel& kernel, int buffer) {
  const tile::Buffer& memory = kernel.buffers[static_cast<size_t>(buffer)];
  if (memory.kind == tile::BufferKind::kConstant) return "a constant";
  if (memory.kind == tile::BufferKind::kScratch) return "scratch memory";
  const bool is_sort = instruction.opcode() == Opcode::kSort;  // the comparator has two of each
  int first = 0;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    const int64_t leaves = is_sort ? 2 : LeafCount(instruction.operand(i)->shape());
    if (buffer < first + leaves)
      return fmt::format("operand {} `{}`", i, instruction.operand(i)->name());
    first += static_cast<int>(leaves);
  }
  return LeafCount(instruction.shape()) == 1 || is_sort ? "the result"
                                                        : fmt::format("result {}", buffer - first);
}

std::string ProblemText(const tile::AccessFault& fault, const tile::Kernel& kernel) {
  const tile::Node& node = kernel.nodes[static_cast<size_t>(fault.node)];
  switch (fault.problem) {
    case tile::AccessProblem::kOutside: return "outside of it";
    case tile::AccessProblem::kMisaligned:
      return fmt::format("misaligned: address {:#x}, alignment {}", fault.address,
                         tile::AccessAlignment(kernel, node));
    case tile::AccessProblem::kUnwritten: return "which nobody has written";
    case tile::AccessProblem::kOverwritten: return "which the kernel has already written over";
    case tile::AccessProblem::kShared: return "which another of its tasks writes";
    case tile::AccessProblem::kNegative: break;
  }
  return "";
}

absl::Status StatusOf(const tile::AccessFault& fault, const tile::Kernel& kernel,
                      const Instruction& instruction) {
  const tile::Node& node = kernel.nodes[static_cast<size_t>(fault.node)];
  const Instruction& origin = node.origin != nullptr ? *node.origin : instruction;
  std::string text = fmt::format("kernel of `{}`: ", instruction.name());
  if (fault.problem == tile::AccessProblem::kNegative) {
    text += fmt::format("{} of the negative index {}", Text(node.op), fault.index);
  } else {
    const tile::Buffer& buffer = kernel.buffers[static_cast<size_t>(node.buffer)];
    text += fmt::format("{} of element {} of {} ({}[{}], {} bytes), {}", Text(node.op), fault.index,
                        NameOfBuffer(instruction, kernel, node.buffer), Text(buffer.type),
                        buffer.elements, buffer.elements * ByteSize(buffer.type),
                        ProblemText(fault, kernel));
  }
  if (&origin != &instruction) text += fmt::format(", for `{}`", origin.name());
  const bool knows_origin = origin.loc().known();
  return MakeError(absl::StatusCode::kOutOfRange, knows_origin ? origin.loc() : instruction.loc(),
                   std::move(text));
}

}  // namespace

absl::StatusOr<std::vector<bool>> AccessesToCheck(const tile::Kernel& kernel, int64_t task_count,
                                                  CpuChecks checks,
                                                  const Instruction& instruction) {
  if (absl::Status status = tile::Verify(kernel); !status.ok())
    return AddLocation(AddPrefix(status, fmt::format("kernel of `{}`", instruction.name())),
                       instruction.loc());
  const std::vector<tile::AccessProof> proofs = tile::ProveAccesses(kernel, task_count);
  std::vector<bool> wanted(proofs.size());
  for (size_t n = 0; n < proofs.size(); ++n) {
    if (proofs[n] == tile::AccessProof::kOutside) {
      const tile::Node& node = kernel.nodes[n];
      const Instruction& origin = node.origin != nullptr ? *node.origin : instruction;
      return AddLocation(
          Internal("kernel of `{}`: a {} for `{}` is outside of {}, which has {} elements",
                   instruction.name(), Text(node.op), origin.name(),
                   NameOfBuffer(instruction, kernel, node.buffer),
                   kernel.buffers[static_cast<size_t>(node.buffer)].elements),
          origin.loc());
    }
    wanted[n] = proofs[n] != tile::AccessProof::kNoAccess &&
                (checks == CpuChecks::kAll || proofs[n] == tile::AccessProof::kUnknown);
  }
  return wanted;
}

std::string UnprovenText(const tile::Kernel& kernel, int64_t task_count) {
  const std::vector<tile::AccessProof> proofs = tile::ProveAccesses(kernel, task_count);
  std::string text;
  for (size_t n = 0; n < proofs.size(); ++n) {
    if (proofs[n] != tile::AccessProof::kUnknown) continue;
    const tile::Node& node = kernel.nodes[n];
    text += fmt::format("// not proved to be inside: {} b{}[%{}]", Text(node.op), node.buffer,
                        node.operands[0]);
    if (node.origin != nullptr) text += fmt::format(" for `{}`", node.origin->name());
    text += "\n";
  }
  return text;
}

void WriteKernelPlace(const void* context, CrashWriter& out) {
  const auto& instruction = *static_cast<const Instruction*>(context);
  out.Text("  in the kernel of `").Text(instruction.name()).Text("`");
  const Source* const source = instruction.module().source().get();
  const SourceLoc loc = instruction.loc();
  if (source == nullptr || !loc.known()) {
    out.Text("\n");
    return;
  }
  const LineColumn at = source->Locate(loc.offset);
  const std::string_view line = source->LineAt(loc.offset);
  out.Text(", at ").Text(source->name()).Text(":").Number(at.line).Text(":").Number(at.column);
  out.Text("\n  ").Text(line.substr(0, 160)).Text("\n  ");
  for (int i = 1; i < std::min(at.column, 160); ++i)
    out.Text(line[static_cast<size_t>(i) - 1] == '\t' ? "\t" : " ");
  out.Text("^\n");
}

KernelCode::KernelCode(tile::KernelFunction* function, tile::Kernel kernel,
                       const Instruction& instruction)
    : function_(function), checked_(new Checked{std::move(kernel), instruction, std::nullopt}) {}

absl::StatusOr<KernelCode> KernelCode::Evaluated(tile::Kernel kernel,
                                                 const Instruction& instruction) {
  KernelCode code(nullptr);
  const auto checked =
      std::make_shared<Checked>(Checked{std::move(kernel), instruction, std::nullopt});
  ASSIGN_OR_RETURN(checked->evaluation, tile::Evaluation::Make(checked->kernel));
  code.checked_ = checked;
  return code;
}

absl::Status KernelCode::LeftUnwritten(int buffer, int64_t byte) const {
  RET_CHECK(checked_ != nullptr, "a kernel without accesses has a result");
  const Instruction& instruction = checked_->instruction;
  const ElementType type = checked_->kernel.buffers[static_cast<size_t>(buffer)].type;
  return MakeError(
      absl::StatusCode::kOutOfRange, instruction.loc(),
      fmt::format("kernel of `{}` leaves element {} of {} unwritten", instruction.name(),
                  byte / ByteSize(type), NameOfBuffer(instruction, checked_->kernel, buffer)));
}

absl::Status KernelCode::RunChecked(absl::Span<void*> buffers, int64_t begin, int64_t end,
                                    void* scratch, absl::Span<tile::ByteState* const> states,
                                    tile::Part part) const {
  const tile::Kernel& kernel = checked_->kernel;
  tile::Watch watch(kernel, buffers.data(), scratch, part);
  for (size_t i = 0; i < states.size(); ++i) watch.Track(static_cast<int>(i), states[i]);
  if (checked_->evaluation) {
    checked_->evaluation->Run(buffers.data(), begin, end, scratch, watch);
  } else {
    absl::InlinedVector<void*, 16> arguments(buffers.begin(), buffers.end());
    arguments.push_back(&watch);
    function_(arguments.data(), begin, end, scratch);
  }
  if (!watch.fault()) return absl::OkStatus();
  return StatusOf(*watch.fault(), kernel, checked_->instruction);
}

}  // namespace hlo::cpu
