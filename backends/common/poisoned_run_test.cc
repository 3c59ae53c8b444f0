// Every program of testdata that can be evaluated instruction by instruction gives the same results
// in the memory that buffer assignment gives it.
#include "backends/common/poisoned_run.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "lib/analysis/alias.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/verifier.h"
#include "lib/ir/verify_meaning.h"
#include "lib/support/file.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "passes/pass_manager.h"
#include "tools/support/random_arguments.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = 100'000;  // of a file, and
constexpr int64_t kMostWork = 1 << 22;     // elements of a run: the test is to take seconds

// What buffer assignment requires of a module.
constexpr std::string_view kBefore =
    "buffers-to-arrays,async-to-call,bitcast-expander,flatten-call-graph,copy-insertion{dense}";

// Above the folder the test runs in.
fs::path Testdata() {
  for (fs::path at = fs::current_path();; at = at.parent_path()) {
    if (fs::exists(at / "testdata" / "run")) return at / "testdata";
    REQUIRE(at != at.parent_path());
  }
}

std::vector<fs::path> FilesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> Sections(const fs::path& file) {
  const absl::StatusOr<std::string> text = ReadFile(file.string());
  REQUIRE(text.ok());
  std::vector<std::string> sections;
  size_t begin = 0;
  while (begin <= text->size()) {
    const size_t end = std::min(text->find("// -----", begin), text->size());
    sections.push_back(text->substr(begin, end - begin));
    begin = end + 8;
  }
  return sections;
}

bool IsDeterministic(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* i : computation->instructions()) {
      if (i->opcode() == Opcode::kRng || i->opcode() == Opcode::kRngGetAndUpdateState ||
          i->shape().has_dynamic_dims())
        return false;
    }
  }
  return true;
}

// Whether the program could be run both ways; then the results were compared.
bool CheckProgram(const std::string& text) {
  absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(text);
  if (!parsed.ok()) return false;
  Module& module = **parsed;
  PassContext context;
  if (!Verify(module, VerifierOptions()).ok() || !MeaningWarnings(module).empty()) return false;
  if (!IsDeterministic(module) || !RunPipelineText(kBefore, module, context).ok()) return false;
  const std::vector<Literal> arguments = RandomArguments(module, 1);
  EvalOptions limits;
  limits.max_loop_iterations = 900;
  limits.max_work = kMostWork;
  const absl::StatusOr<Literal> expected = Evaluator(limits).Run(module, arguments);
  if (!expected.ok()) return false;
  bool compared = false;
  for (const bool in_place : {false, true}) {
    AssignmentHooks hooks;
    hooks.can_share = [in_place](const Instruction& instruction, int operand, int leaf) {
      const std::vector<InPlacePair> pairs = InPlacePairs(instruction);
      return in_place && std::any_of(pairs.begin(), pairs.end(), [&](const InPlacePair& pair) {
               return pair.operand == operand && pair.operand_leaf == 0 && pair.leaf == leaf;
             });
    };
    const auto buffers = BufferAssignment::Make(module, hooks);
    if (!buffers.ok()) return false;
    const absl::StatusOr<Literal> result = PoisonedRun(module, **buffers, arguments);
    if (!result.ok()) return false;
    INFO((*buffers)->ToString());
    CHECK(*result == *expected);
    compared = true;
  }
  return compared;
}

TEST_CASE("programs run in the memory that is assigned to them", "[common][buffers]") {
  const fs::path testdata = Testdata();
  int compared = 0;
  for (const std::string_view folder :
       {"analysis", "models", "ops", "passes", "regress", "run", "tools"}) {
    for (const fs::path& file : FilesBelow(testdata / folder)) {
      if (fs::file_size(file) > kMostBytes) continue;
      INFO(file.string());
      for (const std::string& section : Sections(file)) compared += CheckProgram(section) ? 1 : 0;
    }
  }
  CHECK(compared > 1000);
}

TEST_CASE("a value that is given up too early shows", "[common][buffers]") {
  absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] negate(x)
  b = f32[4] sine(a)
  c = f32[4] cosine(b)
  ROOT r = f32[4] multiply(c, x)
})");
  REQUIRE(parsed.ok());
  Module& module = **parsed;
  const auto buffers = BufferAssignment::Make(module, {});
  REQUIRE(buffers.ok());
  // c lies where a did; that a is needed after it, the assignment does not know.
  CHECK((*buffers)->slice(*module.FindInstruction("a")) ==
        (*buffers)->slice(*module.FindInstruction("c")));
  module.FindInstruction("r")->ReplaceOperand(1, module.FindInstruction("a"));
  const std::vector<Literal> arguments = RandomArguments(module, 1);
  const absl::StatusOr<Literal> result = PoisonedRun(module, **buffers, arguments);
  const absl::StatusOr<Literal> expected = Evaluator().Run(module, arguments);
  REQUIRE(result.ok());
  REQUIRE(expected.ok());
  CHECK_FALSE(*result == *expected);
}

}  // namespace
}  // namespace hlo
