#include "lib/analysis/program_cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "lib/analysis/call_graph.h"
#include "lib/analysis/trip_count.h"
#include "lib/ir/call_order.h"
#include "lib/support/read_number.h"

namespace hlo {
namespace {

// The position after `word` and blanks, `from` or later; npos when it is not there.
size_t After(std::string_view text, std::string_view word, size_t from) {
  const size_t at = from == std::string_view::npos ? from : text.find(word, from);
  return at == std::string_view::npos ? at : text.find_first_not_of(" \t\n", at + word.size());
}

// {"known_trip_count":{"n":"10"},…}
std::optional<int64_t> DeclaredTripCount(const Instruction& loop) {
  const std::string_view text = loop.backend_config();
  size_t at = After(text, "\"known_trip_count\"", 0);
  for (const std::string_view word : {":", "{", "\"n\"", ":"}) at = After(text, word, at);
  if (at == std::string_view::npos) return std::nullopt;
  if (text[at] == '"') ++at;
  std::string_view rest = text.substr(at);
  const std::optional<int64_t> count = TakeNumber<int64_t>(rest);
  return count && *count >= 0 ? count : std::nullopt;
}

// Stays a number however deep loops are nested.
double Times(double a, double b) {
  return std::min(a * b, std::numeric_limits<double>::max() / 1e6);
}

void AddTo(Cost& sum, const Cost& cost) {
  sum.flops += cost.flops;
  sum.transcendentals += cost.transcendentals;
  sum.bytes += cost.bytes;
}

}  // namespace

bool RunsComputations(const Instruction& instruction) {
  return instruction.call_count() > 0 && CallKindOf(instruction.opcode()) == CallKind::kControlFlow;
}

std::optional<int64_t> KnownTripCount(const Instruction& loop) {
  const std::optional<int64_t> found = TripCount(loop);
  return found ? found : DeclaredTripCount(loop);
}

ProgramCost::ProgramCost(const Module& module)
    : runs_(module.serial_limit()),
      computation_costs_(module.serial_limit()),
      costs_(module.id_limit()) {
  if (module.entry() == nullptr) return;
  runs_[module.entry()->serial()].times = 1;
  // Callers first, so that each is final when its callees are told.
  const std::vector<Computation*> order = CalleesFirst(module.PostOrder());
  for (size_t i = order.size(); i-- > 0;) AddRuns(*order[i]);
  for (const Computation* computation : module.computations()) {
    if (RunsOf(*computation).times > 0) AddCosts(*computation);
  }
}

void ProgramCost::AddRuns(const Computation& caller) {
  const Runs runs = RunsOf(caller);
  if (runs.times == 0 || !caller.MayCall()) return;
  for (const Instruction* instruction : caller.instructions()) {
    if (!RunsComputations(*instruction)) continue;
    if (instruction->opcode() == Opcode::kWhile) {
      const std::optional<int64_t> count = KnownTripCount(*instruction);
      loops_.push_back({instruction, count});
      const auto times = static_cast<double>(count.value_or(1));
      const bool is_known = runs.is_known && count.has_value();
      AddRuns(*instruction->while_condition(), Times(runs.times, times + (count ? 1 : 0)),
              is_known);
      AddRuns(*instruction->while_body(), Times(runs.times, times), is_known);
      continue;
    }
    const bool decides = instruction->opcode() == Opcode::kConditional;
    for (const Computation* callee : instruction->calls())
      AddRuns(*callee, runs.times, runs.is_known && !decides);
  }
}

void ProgramCost::AddRuns(const Computation& callee, double times, bool is_known) {
  Runs& runs = runs_[callee.serial()];
  runs.times += times;
  runs.is_known = runs.is_known && is_known;
  is_known_ = is_known_ && is_known;
}

void ProgramCost::AddCosts(const Computation& computation) {
  const double times = RunsOf(computation).times;
  Cost& sum = computation_costs_[computation.serial()];
  for (const Instruction* instruction : computation.instructions()) {
    if (RunsComputations(*instruction)) continue;
    const Cost once = CostOf(*instruction);
    Cost& cost = costs_[instruction->id()];
    cost = {Times(once.flops, times), Times(once.transcendentals, times), Times(once.bytes, times)};
    AddTo(sum, cost);
  }
  AddTo(total_, sum);
}

std::string ProgramCost::ToString(const Module& module) {
  const ProgramCost costs(module);
  const auto text_of = [](const Cost& cost) {
    return fmt::format("{} flops, {} transcendentals, {} bytes\n", cost.flops, cost.transcendentals,
                       cost.bytes);
  };
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    const Runs& runs = costs.RunsOf(*computation);
    if (runs.times == 0) continue;
    text += fmt::format("{}: runs {} times{}; {}", computation->name(), runs.times,
                        runs.is_known ? "" : ", guessed", text_of(costs.Of(*computation)));
  }
  return text +
         fmt::format("together{}: {}", costs.is_known() ? "" : ", guessed", text_of(costs.total()));
}

}  // namespace hlo
