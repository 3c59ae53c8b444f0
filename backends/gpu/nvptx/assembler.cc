#include "backends/gpu/nvptx/assembler.h"

#include <cstdlib>
#include <regex>
#include <sstream>

#include "backends/gpu/cuda/find_library.h"
#include "backends/gpu/cuda/nvjitlink.h"
#include "lib/support/file.h"
#include "lib/support/run_program.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "lib/support/temporary.h"

namespace hlo::gpu {
namespace {

std::string WarningsIn(const std::string& log) {
  std::string warnings;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("warning") != std::string::npos) warnings += line + "\n";
  }
  return warnings;
}

}  // namespace

absl::StatusOr<std::string> FindPtxas() { return FindProgram("ptxas", "HLO_PTXAS"); }

absl::StatusOr<Assembled> AssembleByPtxas(std::string_view ptx, std::string_view target) {
  ASSIGN_OR_RETURN(const std::string ptxas, FindPtxas());
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::Make());
  const std::string in = folder->In("kernels.ptx");
  const std::string out = folder->In("kernels.cubin");
  RETURN_IF_ERROR(WriteFile(in, ptx));
  ASSIGN_OR_RETURN(const ProgramResult run,
                   RunProgram({ptxas, fmt::format("-arch={}", target), "-o", out, in},
                              {.error_output = ErrorOutput::kWithOutput}));
  if (!run.end.ok()) return Internal("ptxas refuses the code for `{}`: {}", target, run.output);
  Assembled result;
  ASSIGN_OR_RETURN(result.cubin, ReadFile(out));
  result.warnings = WarningsIn(run.output);
  return result;
}

namespace {

absl::StatusOr<Assembled> AssembleByNvJitLink(std::string_view ptx, std::string_view target) {
  ASSIGN_OR_RETURN(const NvJitLink* const library, LoadNvJitLink());
  Assembled result;
  ASSIGN_OR_RETURN(result.cubin, library->Link(ptx, target));
  return result;
}

struct AssemblerRow {
  std::string_view name;
  bool (*is_there)();
  absl::StatusOr<Assembled> (*assemble)(std::string_view ptx, std::string_view target);
};
// The first that is there is taken.
constexpr AssemblerRow kAssemblers[] = {
    {"ptxas", [] { return FindPtxas().ok(); }, AssembleByPtxas},
    {"nvjitlink", [] { return LoadNvJitLink().ok(); }, AssembleByNvJitLink}};

// Null: none.
absl::StatusOr<const AssemblerRow*> ChosenAssembler() {
  const char* const named = std::getenv("HLO_GPU_ASSEMBLER");
  if (named != nullptr && std::string_view(named) == "driver") return nullptr;
  for (const AssemblerRow& row : kAssemblers) {
    if (named != nullptr ? row.name == named : row.is_there()) return &row;
  }
  if (named == nullptr) return nullptr;
  return Error("$HLO_GPU_ASSEMBLER is `{}`; it takes ptxas, nvjitlink or driver", named);
}

}  // namespace

bool HasAssembler() {
  const absl::StatusOr<const AssemblerRow*> row = ChosenAssembler();
  return !row.ok() || *row != nullptr;
}

absl::StatusOr<Assembled> Assemble(std::string_view ptx, std::string_view target) {
  ASSIGN_OR_RETURN(const AssemblerRow* const row, ChosenAssembler());
  if (row == nullptr) return absl::NotFoundError("there is neither ptxas nor nvJitLink");
  return row->assemble(ptx, target);
}

absl::StatusOr<Assembled> AssembleEdited(const StageText& ptx, std::string_view target) {
  absl::StatusOr<Assembled> assembled = Assemble(ptx.text, target);
  if (assembled.ok()) return assembled;
  // "ptxas kernels.ptx, line 12; error   : …", from the process and from the library.
  static const std::regex kMistake(R"(line (\d+); (?:error|fatal) *: ([^\n]*))");
  const std::string message(assembled.status().message());
  std::smatch mistake;
  if (std::regex_search(message, mistake, kMistake))
    return Error("{}:{}: {}", ptx.file, mistake[1].str(), mistake[2].str());
  return Error("{}: {}", ptx.file, message);
}

absl::StatusOr<std::string> Disassemble(std::string_view cubin) {
  const absl::StatusOr<std::string> found = FindProgram("nvdisasm", "HLO_NVDISASM");
  if (!found.ok()) {
    return Error("{}; it comes with the CUDA Toolkit and with the Python package triton",
                 ToStd(found.status().message()));
  }
  const std::string& nvdisasm = *found;
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::Make());
  const std::string in = folder->In("kernels.cubin");
  RETURN_IF_ERROR(WriteFile(in, cubin));
  ASSIGN_OR_RETURN(ProgramResult run, RunProgram({nvdisasm, "--print-code", in},
                                                 {.error_output = ErrorOutput::kWithOutput}));
  if (!run.end.ok()) return Error("{} does not read the machine code: {}", nvdisasm, run.output);
  return std::move(run.output);
}

}  // namespace hlo::gpu
