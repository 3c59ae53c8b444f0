// Every program of testdata that can be evaluated instruction by instruction gives the same results
// in the memory that buffer assignment gives it.
#include "backends/common/poisoned_run.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "lib/analysis/alias.h"
#include "lib/eval/evaluator.h"
#include "lib/ir/any_instruction.h"
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
constexpr int64_t kMostWork = 1 << 20;     // elements of a run: the test is to take seconds

// What buffer assignment requires of a module; with one thing at a time, and with whatever is
// asynchronous done in the background.
constexpr std::string_view kInTurn =
    "buffers-to-arrays,async-to-call,bitcast-expander,flatten-call-graph,copy-insertion{dense}";
constexpr std::string_view kInBackground =
    "buffers-to-arrays,async-to-call{background_us=0},bitcast-expander,flatten-call-graph,"
    "call-to-async,copy-insertion{dense}";

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
  for (const Instruction* i : AllInstructions(module)) {
    if (i->opcode() == Opcode::kRng || i->opcode() == Opcode::kRngGetAndUpdateState ||
        i->shape().has_dynamic_dims())
      return false;
  }
  return true;
}

std::vector<Instruction*> AsyncStarts(const Module& module) {
  std::vector<Instruction*> starts;
  for (Instruction* i : AllInstructions(module)) {
    if (i->opcode() == Opcode::kAsyncStart) starts.push_back(i);
  }
  return starts;
}

// Whether an operation may write its result over an operand where the hardware could.
AssignmentHooks Hooks(bool in_place) {
  AssignmentHooks hooks;
  hooks.can_share = [in_place](const Instruction& instruction, int operand, int leaf) {
    const std::vector<InPlacePair> pairs = InPlacePairs(instruction);
    return in_place && std::any_of(pairs.begin(), pairs.end(), [&](const InPlacePair& pair) {
             return pair.operand == operand && pair.operand_leaf == 0 && pair.leaf == leaf;
           });
  };
  return hooks;
}

struct Compared {
  bool all = false;         // run in every way
  bool background = false;  // something of it in the background
  std::string_view why;     // it could not be run
};

// Runs the program after `passes` in its memory, in every way; compares what could be run.
Compared CheckProgram(const std::string& text, std::string_view passes) {
  absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(text);
  if (!parsed.ok()) return {.why = "no module"};
  Module& module = **parsed;
  PassContext context;
  if (!Verify(module, VerifierOptions()).ok() || !VerifyMeaning(module).ok())
    return {.why = "no meaning"};
  // Also where nothing runs beside it.
  for (Instruction* start : AsyncStarts(module))
    start->mutable_extras().frontend_attributes["background"] = "true";
  if (!IsDeterministic(module)) return {.why = "draws or effects"};
  if (!RunPipelineText(passes, module, context).ok()) return {.why = "refused by the passes"};
  const std::vector<Literal> arguments = RandomArguments(module, 1);
  EvalOptions limits;
  limits.max_loop_iterations = 900;
  limits.max_work = kMostWork;
  const absl::StatusOr<Literal> expected = Evaluator(limits).Run(module, arguments);
  if (!expected.ok()) return {.why = "not evaluated"};
  const bool has_background = !AsyncStarts(module).empty();
  for (const bool in_place : {false, true}) {
    const auto buffers = BufferAssignment::Make(module, Hooks(in_place));
    if (!buffers.ok()) return {.why = "no buffers"};
    for (const BackgroundRuns when : {BackgroundRuns::kAtStart, BackgroundRuns::kAtDone}) {
      if (when == BackgroundRuns::kAtDone && !has_background) continue;
      const absl::StatusOr<Literal> result = PoisonedRun(module, **buffers, arguments, when);
      if (!result.ok()) return {.why = "not run in its memory"};
      INFO((*buffers)->ToString());
      CHECK(*result == *expected);
    }
  }
  return {.all = true, .background = has_background};
}

TEST_CASE("programs run in the memory that is assigned to them", "[common][buffers]") {
  const fs::path testdata = Testdata();
  int compared = 0, background = 0;
  std::map<std::string_view, int> left_out;
  for (const fs::path& file : FilesBelow(testdata)) {
    if (fs::file_size(file) > kMostBytes) {
      ++left_out["long text"];
      continue;
    }
    INFO(file.string());
    for (const std::string& section : Sections(file)) {
      const Compared result = CheckProgram(section, kInTurn);
      result.all ? ++compared : ++left_out[result.why];
      if (section.find("async") != std::string::npos)
        background += CheckProgram(section, kInBackground).background ? 1 : 0;
    }
  }
  std::string why;
  for (const auto& [reason, count] : left_out) why += fmt::format("{} {}; ", count, reason);
  INFO("left out: " << why);
  CHECK(left_out["long text"] < 20);
  CHECK(left_out["no buffers"] == 0);
  CHECK(compared > 3000);
  CHECK(background > 20);
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

TEST_CASE("what the background still reads or writes is needed", "[common][buffers]") {
  absl::StatusOr<std::unique_ptr<Module>> parsed = ParseModule(R"(HloModule m, is_scheduled=true
f {
  p = f32[4] parameter(0)
  t = f32[4] sine(p)
  ROOT u = f32[4] negate(t)
}, execution_thread="background"
ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] negate(x)
  s = ((f32[4]), f32[4], s32[]) async-start(a), calls=f, async_execution_thread="background"
  d = f32[4] async-done(s)
  b = f32[4] cosine(x)
  c = f32[4] add(b, x)
  ROOT r = f32[4] multiply(c, d)
})");
  REQUIRE(parsed.ok());
  Module& module = **parsed;
  const std::vector<Literal> arguments = RandomArguments(module, 1);
  const absl::StatusOr<Literal> expected = Evaluator().Run(module, arguments);
  REQUIRE(expected.ok());
  const auto run = [&](const BufferAssignment& buffers, BackgroundRuns when) {
    const absl::StatusOr<Literal> result = PoisonedRun(module, buffers, arguments, when);
    REQUIRE(result.ok());
    return *result;
  };
  const auto early = BufferAssignment::Make(module, {});
  REQUIRE(early.ok());
  CHECK(run(**early, BackgroundRuns::kAtStart) == *expected);
  CHECK(run(**early, BackgroundRuns::kAtDone) == *expected);
  // With the done later than the assignment has seen it, b lies where a still is needed.
  std::vector<Instruction*> later;
  for (const std::string_view name : {"x", "a", "s", "b", "d", "c", "r"})
    later.push_back(module.FindInstruction(name));
  module.entry()->set_schedule(later);
  CHECK_FALSE(run(**early, BackgroundRuns::kAtDone) == *expected);
  const auto late = BufferAssignment::Make(module, {});
  REQUIRE(late.ok());
  CHECK(run(**late, BackgroundRuns::kAtStart) == *expected);
  CHECK(run(**late, BackgroundRuns::kAtDone) == *expected);
}

}  // namespace
}  // namespace hlo
