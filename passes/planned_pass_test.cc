#include "passes/planned_pass.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "lib/ir/printer.h"
#include "parser/parser.h"

namespace hlo {
namespace {

// Eight computations that do not call each other, and an entry that calls them.
std::unique_ptr<Module> EightCallees() {
  std::string text = "HloModule m\n";
  std::string calls;
  for (int i = 0; i < 8; ++i) {
    text += fmt::format(
        "f{0} {{\n  a{0} = f32[4] parameter(0)\n  ROOT n{0} = f32[4] negate(a{0})\n}}\n", i);
    calls += fmt::format("  {3}c{0} = f32[4] call({1}{2}), to_apply=f{0}\n", i, i == 0 ? "x" : "c",
                         i == 0 ? "" : std::to_string(i - 1), i == 7 ? "ROOT " : "");
  }
  absl::StatusOr<std::unique_ptr<Module>> module =
      ParseModule(text + "ENTRY e {\n  x = f32[4] parameter(0)\n" + calls + "}\n");
  REQUIRE(module.ok());
  return *std::move(module);
}

// Adds a chain of negates to each computation: as many as stand in it and in what it calls.
class Grow final : public PlannedPass<int64_t> {
 public:
  explicit Grow(int wanted_threads) : wanted_threads_(wanted_threads) {}
  int threads_at_once() const { return most_; }
  const std::vector<std::string>& applied() const { return applied_; }

 protected:
  absl::StatusOr<int64_t> Plan(const Computation& computation,
                               const Plans& callees) const override {
    const int now = ++inside_;
    int seen = most_;
    while (seen < now && !most_.compare_exchange_weak(seen, now)) {
    }
    // Those without callees wait for company.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!computation.is_entry() && most_ < wanted_threads_ &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    --inside_;
    int64_t count = computation.instruction_count();
    for (const Instruction* instruction : computation.instructions()) {
      for (const Computation* callee : instruction->calls()) count += *callees.Of(*callee);
    }
    return count;
  }
  absl::StatusOr<bool> Apply(Computation& computation, int64_t plan, PassContext&) override {
    applied_.emplace_back(computation.name());
    for (int64_t i = 0; i < plan; ++i) {
      Instruction* root = computation.root();
      computation.set_root(computation.Add(Opcode::kNegate, root->shape(), {root}));
    }
    return true;
  }

 private:
  int wanted_threads_;
  mutable std::atomic<int> inside_ = 0;
  mutable std::atomic<int> most_ = 0;
  std::vector<std::string> applied_;
};

std::string GrownText(int threads, int wanted_threads, Grow& pass) {
  const auto module = EightCallees();
  PassContext context;
  context.set_threads(threads);
  REQUIRE(pass.Run(*module, context).ok());
  CHECK(pass.threads_at_once() >= wanted_threads);
  return ToText(*module);
}

TEST_CASE("plans are made on several threads and carried out in order", "[passes][planned]") {
  Grow one(1), four(4);
  const std::string text = GrownText(1, 1, one);
  CHECK(GrownText(4, 4, four) == text);
  CHECK(one.applied() == four.applied());
  CHECK(one.applied().back() == "e");
  CHECK(one.threads_at_once() == 1);
}

TEST_CASE("groups hold callees before callers", "[passes][planned]") {
  const auto module = EightCallees();
  const auto groups = internal::GroupsByDepth(module->NonFusionComputations());
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].size() == 8);
  CHECK(groups[1].size() == 1);
}

}  // namespace
}  // namespace hlo
