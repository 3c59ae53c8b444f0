// The communicator of GPUs against functions that stand for NCCL's and check its contract: values
// are those of the interpreter in one process, bit for bit (all sums here are exact).
#include "backends/gpu/library/nccl_communicator.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "backends/gpu/library/recording_nccl.h"
#include "lib/analysis/leaves.h"
#include "lib/eval/collective_groups.h"
#include "lib/eval/device_group.h"
#include "lib/eval/distributed_communicator.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

// Memory is the host's, and work is done at once.
class MemoryStream final : public Stream {
 public:
  absl::Status LaunchKernel(const Launch&) override { return Internal("no kernels here"); }
  absl::Status CopyToDevice(DevicePtr to, const void* from, int64_t bytes) override {
    std::memcpy(Memory(to), from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status CopyToHost(void* to, DevicePtr from, int64_t bytes) override {
    std::memcpy(to, Memory(from), static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status CopyOnDevice(DevicePtr to, DevicePtr from, int64_t bytes) override {
    return CopyToDevice(to, Memory(from), bytes);
  }
  absl::Status Fill(DevicePtr to, uint8_t value, int64_t bytes) override {
    std::memset(Memory(to), value, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status Record(Event&) override { return absl::OkStatus(); }
  absl::Status Wait(Event&) override { return absl::OkStatus(); }
  absl::Status Synchronize() override { return absl::OkStatus(); }

 private:
  static void* Memory(DevicePtr address) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  }
};

DevicePtr AddressOf(const void* memory) { return reinterpret_cast<DevicePtr>(memory); }
std::string OwnGpu(int64_t device) { return std::string(16, static_cast<char>('a' + device)); }
std::string OneGpu(int64_t) { return std::string(16, 'x'); }

// One device at the root of the module, whose operands are its parameters. A value: NCCL did it.
struct Outcome {
  std::vector<Literal> leaves;
  bool by_nccl = false;
};
absl::StatusOr<Outcome> Come(NcclCommunicator& nccl, Communicator& host, const Module& module,
                             int64_t device, const std::vector<Literal>& arguments,
                             std::string gpu) {
  const Instruction& collective = *module.entry()->root();
  MemoryStream stream;
  Outcome outcome;
  NcclCommunicator::Arrays arrays;
  for (const Literal& argument : arguments) arrays.operands.push_back(AddressOf(argument.data()));
  for (const Shape& leaf : LeafShapes(collective.shape())) {
    outcome.leaves.emplace_back(leaf);
    std::memset(outcome.leaves.back().mutable_data(), 0x55, static_cast<size_t>(leaf.byte_size()));
  }
  for (Literal& leaf : outcome.leaves) arrays.results.push_back(AddressOf(leaf.mutable_data()));
  ASSIGN_OR_RETURN(outcome.by_nccl, nccl.Meet({host, device, gpu, stream}, collective,
                                              GroupOf(collective, device, host.mesh()), arrays));
  return outcome;
}

std::unique_ptr<Module> Parsed(const std::string& text) {
  INFO(text);
  auto module = ParseModule(text);
  REQUIRE(module.ok());
  return *std::move(module);
}

std::vector<std::vector<Literal>> ArgumentsOfDevices(const Module& module) {
  std::vector<std::vector<Literal>> arguments;
  const int64_t devices = module.config().replica_count * module.config().num_partitions;
  for (int64_t device = 0; device < devices; ++device) {
    arguments.emplace_back();
    for (const Instruction* parameter : module.entry()->parameters()) {
      Literal value(parameter->shape());
      for (int64_t i = 0; i < value.element_count(); ++i)
        value.SetDouble(i, static_cast<double>(1 + (device + i * 3) % 3));
      arguments.back().push_back(std::move(value));
    }
  }
  return arguments;
}

struct Runs {
  std::vector<absl::StatusOr<Outcome>> outcomes;  // by device
  absl::Status status;                            // of all of them
};
Runs RunAll(NcclCommunicator& nccl, DeviceCommunicator& host, const Module& module,
            const std::vector<std::vector<Literal>>& arguments,
            std::string (*gpu)(int64_t) = OwnGpu) {
  Runs runs{std::vector<absl::StatusOr<Outcome>>(arguments.size(), Outcome()), absl::OkStatus()};
  const int64_t partitions = host.mesh().partitions;
  runs.status = RunOnDevices(host,
                             [&](int64_t replica, int64_t partition,
                                 Communicator& communicator) -> absl::StatusOr<Literal> {
                               const int64_t device = replica * partitions + partition;
                               const auto i = static_cast<size_t>(device);
                               runs.outcomes[i] = Come(nccl, communicator, module, device,
                                                       arguments[i], gpu(device));
                               if (!runs.outcomes[i].ok()) return runs.outcomes[i].status();
                               return Literal();
                             })
                    .status();
  return runs;
}

void CheckValues(const Runs& runs, const std::vector<Literal>& expected, const Module& module) {
  REQUIRE(runs.status.ok());
  for (size_t device = 0; device < expected.size(); ++device) {
    const Outcome& outcome = *runs.outcomes[device];
    const bool is_alone = GroupOf(*module.entry()->root(), static_cast<int64_t>(device),
                                  {module.config().replica_count, module.config().num_partitions})
                              .size() == 1;
    CHECK(outcome.by_nccl == !is_alone);
    if (is_alone) continue;
    const std::vector<Literal> leaves = expected[device].shape().IsTuple()
                                            ? expected[device].elements()
                                            : std::vector<Literal>{expected[device]};
    REQUIRE(leaves.size() == outcome.leaves.size());
    for (size_t k = 0; k < leaves.size(); ++k) {
      CHECK(std::memcmp(leaves[k].data(), outcome.leaves[k].data(),
                        static_cast<size_t>(leaves[k].byte_size())) == 0);
    }
  }
}

// Twice by NCCL, with one communicator of it.
void CheckCase(const std::string& text, std::vector<std::vector<Literal>> arguments = {}) {
  CAPTURE(text);
  const auto module = Parsed(text);
  REQUIRE(static_cast<bool>(IsForNccl(*module->entry()->root())));
  if (arguments.empty()) arguments = ArgumentsOfDevices(*module);
  const auto expected = EvaluateOnDevices(*module, arguments, {});
  REQUIRE(expected.ok());
  RecordingNccl fake;
  {
    NcclCommunicator nccl(&RecordingNccl::Table(), std::chrono::seconds(20));
    InProcessCommunicator host({module->config().replica_count, module->config().num_partitions});
    for (int run = 0; run < 2; ++run) {
      host.Restart();
      CheckValues(RunAll(nccl, host, *module, arguments), *expected, *module);
    }
  }
  CHECK(fake.breaches() == std::vector<std::string>());
  CHECK(fake.alive() == 0);
}

std::string Region(const std::string& type, const std::string& operation) {
  return "f {\n a = " + type + "[] parameter(0)\n b = " + type +
         "[] parameter(1)\n ROOT v = " + type + "[] " + operation + "(a, b)\n}\n";
}

std::string Program(const std::string& mesh, const std::string& root, const std::string& parameters,
                    const std::string& region = "") {
  return "HloModule m, " + mesh + "\n" + region + "ENTRY main {\n" + parameters +
         "ROOT r = " + root + "\n}\n";
}

TEST_CASE("reductions of all types that NCCL has", "[gpu][nccl]") {
  int taken = 0;
  for (const std::string type : {"pred", "s4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64",
                                 "f8e5m2", "f16", "bf16", "f32", "f64", "c64", "c128"}) {
    for (const std::string operation : {"add", "multiply", "minimum", "maximum", "and", "or"}) {
      const bool is_wrong = (type[0] == 'f' || type[0] == 'b' || type[0] == 'c') &&
                            (operation == "and" || operation == "or" ||
                             (type[0] == 'c' && operation[0] == 'm' && operation != "multiply"));
      if (is_wrong) continue;
      const std::string text =
          Program("replica_count=3",
                  "(" + type + "[5], " + type +
                      "[2,3]) all-reduce(x, y), replica_groups={}, "
                      "to_apply=f",
                  "x = " + type + "[5] parameter(0)\ny = " + type + "[2,3] parameter(1)\n",
                  Region(type, operation));
      if (!IsForNccl(*Parsed(text)->entry()->root())) continue;
      ++taken;
      CheckCase(text);
    }
  }
  // pred: min, max, and, or; 6 types of integers: sum, product, min, max; 4 of floats: two;
  // complex numbers: sum.
  CHECK(taken == 4 + 6 * 4 + 4 * 2 + 2);
}

TEST_CASE("all types are moved", "[gpu][nccl]") {
  for (const std::string t : {"pred", "s4", "u16", "f8e4m3fn", "bf16", "f32", "s64", "c128"}) {
    const std::string x = "x = " + t + "[4,6] parameter(0)\n";
    const auto check = [&](const std::string& root) {
      CheckCase(Program("replica_count=2", root, x));
    };
    check(t + "[8,6] all-gather(x), replica_groups={}, dimensions={0}");
    check(t + "[4,12] all-gather(x), replica_groups={}, dimensions={1}");
    check(t + "[4,6] all-to-all(x), replica_groups={}, dimensions={0}");
    check(t + "[4,6] all-to-all(x), replica_groups={}, dimensions={1}");
    check(t + "[4,6] collective-permute(x), source_target_pairs={{0,1}}");
    check(t + "[4,6] collective-broadcast(x), replica_groups={{1,0}}");
  }
  CheckCase(Program("replica_count=3",
                    "(s32[2], s32[2], s32[2]) all-to-all(x, y, z), replica_groups={{2,0,1}}",
                    "x = s32[2] parameter(0)\ny = s32[2] parameter(1)\nz = s32[2] parameter(2)\n"));
  CheckCase(Program("replica_count=4",
                    "f32[3] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0},{3,3}}",
                    "x = f32[3] parameter(0)\n"));
}

TEST_CASE("groups of all modes", "[gpu][nccl]") {
  const std::string x = "x = s32[4,8] parameter(0)\n", mesh = "replica_count=2, num_partitions=2";
  const std::string region = Region("s32", "add");
  const auto check = [&](const std::string& root) { CheckCase(Program(mesh, root, x, region)); };
  for (const std::string groups :
       {"replica_groups={}", "replica_groups={{1,0}}", "replica_groups={{0},{1}}, channel_id=1",
        "replica_groups={}, channel_id=1",
        "replica_groups={{3,1},{0,2}}, channel_id=1, use_global_device_ids=true",
        "replica_groups={{3},{2,0,1}}, channel_id=1, use_global_device_ids=true"}) {
    check("s32[4,8] all-reduce(x), to_apply=f, " + groups);
  }
  check("s32[4,16] all-gather(x), dimensions={1}, replica_groups={{1,0}}");
  check("s32[16,8] all-gather(x), dimensions={0}, replica_groups={}, channel_id=1");
  check(
      "s32[4,2] reduce-scatter(x), dimensions={1}, to_apply=f, "
      "replica_groups={{2,0,3,1}}, channel_id=1, use_global_device_ids=true");
  check("s32[2,8] reduce-scatter(x), dimensions={0}, to_apply=f, replica_groups={}");
  check("s32[4,8] all-to-all(x), dimensions={1}, replica_groups={}, channel_id=1");
  check("s32[4,8] collective-permute(x), source_target_pairs={{0,1},{1,0}}, channel_id=1");
}

// Of two devices: to each a slice of its rows.
std::string Ragged() {
  return Program("replica_count=2",
                 "f32[6,2] ragged-all-to-all(x, o, b, s, t, n), replica_groups={}",
                 "x = f32[4,2] parameter(0)\no = f32[6,2] parameter(1)\nb = s32[2] parameter(2)\n"
                 "s = s32[2] parameter(3)\nt = s32[2] parameter(4)\nn = s32[2] parameter(5)\n");
}
void SetAll(Literal& literal, const std::vector<int64_t>& values) {
  for (size_t i = 0; i < values.size(); ++i) literal.SetInt(static_cast<int64_t>(i), values[i]);
}

TEST_CASE("slices of rows among devices", "[gpu][nccl]") {
  auto arguments = ArgumentsOfDevices(*Parsed(Ragged()));
  SetAll(arguments[0][2], {0, 1});  // device 0: a row to itself, three to device 1
  SetAll(arguments[0][3], {1, 3});
  SetAll(arguments[0][4], {4, 2});
  SetAll(arguments[1][2], {0, 2});  // device 1: nothing to device 0, two rows to itself
  SetAll(arguments[1][3], {0, 2});
  SetAll(arguments[1][4], {0, 0});
  CheckCase(Ragged(), arguments);

  SetAll(arguments[0][4], {4, 5});  // beyond the end
  const auto module = Parsed(Ragged());
  RecordingNccl fake;
  {
    NcclCommunicator nccl(&RecordingNccl::Table());
    InProcessCommunicator host({2, 1});
    const Runs runs = RunAll(nccl, host, *module, arguments);
    CHECK_THAT(std::string(runs.status.message()),
               Catch::Matchers::Contains("sends rows 1 to 4 of 4 to row 5 of 6"));
  }
  CHECK(fake.calls().empty());
  CHECK(fake.breaches().empty());
  CHECK(fake.alive() == 0);
}

// ---- what goes wrong ----

std::string SumOfTwo() {
  return Program("replica_count=2", "f32[3] all-reduce(x), replica_groups={}, to_apply=f",
                 "x = f32[3] parameter(0)\n", Region("f32", "add"));
}

// A run with trouble and one without; the second is the host's, as all see that it is.
std::string ErrorOf(const RecordingNccl::Trouble& trouble, const std::string& text,
                    double patience = 20) {
  const auto module = Parsed(text);
  const auto arguments = ArgumentsOfDevices(*module);
  std::string error;
  RecordingNccl fake;
  fake.SetTrouble(trouble);
  {
    NcclCommunicator nccl(&RecordingNccl::Table(), std::chrono::duration<double>(patience));
    InProcessCommunicator host({2, 1});
    error = Render(RunAll(nccl, host, *module, arguments).status, nullptr);
    fake.SetTrouble({});
    host.Restart();
    const Runs again = RunAll(nccl, host, *module, arguments);
    REQUIRE(again.status.ok());
    for (const auto& outcome : again.outcomes) CHECK_FALSE(outcome->by_nccl);
  }
  CHECK(fake.breaches() == std::vector<std::string>());
  CHECK(fake.alive() == 0);
  return error;
}

TEST_CASE("what goes wrong in NCCL ends the run, and the host goes on", "[gpu][nccl]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(ErrorOf({.stalls = true}, SumOfTwo(), 0.2),
             Contains("NCCL has not finished after 0.2 seconds: device") &&
                 Contains("waits at `r` (all-reduce) for device"));
  CHECK_THAT(ErrorOf({.failing_rank = 1}, SumOfTwo()),
             Contains("`r` on device 1: NCCL's work failed: remote process exited"));
  CHECK_THAT(ErrorOf({.refuses_join = true}, SumOfTwo()),
             Contains("ncclCommInitRankConfig failed: unhandled cuda error"));
  CHECK_THAT(ErrorOf({.refuses_send = true},
                     Program("replica_count=2",
                             "f32[3] collective-permute(x), source_target_pairs={{0,1},{1,0}}",
                             "x = f32[3] parameter(0)\n")),
             Contains("ncclSend failed: invalid usage"));
}

TEST_CASE("a device that never comes is told of by the host", "[gpu][nccl]") {
  const auto module = Parsed(SumOfTwo());
  const auto arguments = ArgumentsOfDevices(*module);
  RecordingNccl fake;
  NcclCommunicator nccl(&RecordingNccl::Table());
  InProcessCommunicator host({2, 1});
  const absl::Status status =
      RunOnDevices(host, [&](int64_t replica, int64_t, Communicator& c) -> absl::StatusOr<Literal> {
        if (replica == 1) return Literal();
        RETURN_IF_ERROR(Come(nccl, c, *module, 0, arguments[0], OwnGpu(0)).status());
        return Literal();
      }).status();
  CHECK_THAT(Render(status, nullptr), Catch::Matchers::Contains("the devices cannot go on") &&
                                          Catch::Matchers::Contains("device 1 has finished"));
  CHECK(fake.calls().empty());
}

TEST_CASE("devices without GPUs of their own, or without NCCL, have the host", "[gpu][nccl]") {
  const auto module = Parsed(SumOfTwo());
  const auto arguments = ArgumentsOfDevices(*module);
  RecordingNccl fake;
  for (const Nccl* const table : {&RecordingNccl::Table(), static_cast<const Nccl*>(nullptr)}) {
    NcclCommunicator nccl(table);
    InProcessCommunicator host({2, 1});
    const Runs runs = RunAll(nccl, host, *module, arguments, table == nullptr ? OwnGpu : OneGpu);
    REQUIRE(runs.status.ok());
    for (const auto& outcome : runs.outcomes) CHECK_FALSE(outcome->by_nccl);
  }
  CHECK(fake.calls().empty());
}

// ---- several processes ----

struct Network {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<WireBytes> inbox[2];
};
class QueueTransport final : public Transport {
 public:
  QueueTransport(Network& network, int rank) : network_(network), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return 2; }
  void Send(int rank, WireBytes message) override {
    const std::lock_guard lock(network_.mutex);
    network_.inbox[rank].push_back(std::move(message));
    network_.changed.notify_all();
  }
  absl::StatusOr<std::optional<WireBytes>> Receive(std::chrono::milliseconds patience) override {
    std::unique_lock lock(network_.mutex);
    std::deque<WireBytes>& inbox = network_.inbox[rank_];
    if (!network_.changed.wait_for(lock, patience, [&] { return !inbox.empty(); }))
      return std::nullopt;
    std::optional<WireBytes> message = std::move(inbox.front());
    inbox.pop_front();
    return message;
  }
  [[noreturn]] void Abort(int) override { std::abort(); }

 private:
  Network& network_;
  const int rank_;
};

TEST_CASE("processes make a communicator of NCCL by an id that the first one sends",
          "[gpu][nccl]") {
  const auto module = Parsed(SumOfTwo());
  const auto arguments = ArgumentsOfDevices(*module);
  const auto expected = EvaluateOnDevices(*module, arguments, {});
  REQUIRE(expected.ok());
  RecordingNccl fake;
  for (const bool both_have_nccl : {true, false}) {
    Network network;
    std::vector<absl::StatusOr<Outcome>> outcomes(2, Outcome());
    const auto process = [&](int rank) {
      QueueTransport transport(network, rank);
      NcclCommunicator nccl(both_have_nccl || rank == 0 ? &RecordingNccl::Table() : nullptr);
      DistributedCommunicator host({2, 1}, transport, std::chrono::seconds(20));
      host.Restart();
      const auto i = static_cast<size_t>(rank);
      outcomes[i] = Come(nccl, host, *module, rank, arguments[i], OwnGpu(rank));
      host.Leave(rank, outcomes[i].status());
      static_cast<void>(host.Gather({Literal()}));
    };
    std::thread other(process, 1);
    process(0);
    other.join();
    for (size_t i = 0; i < 2; ++i) {
      REQUIRE(outcomes[i].ok());
      CHECK(outcomes[i]->by_nccl == both_have_nccl);
      if (both_have_nccl) CHECK(outcomes[i]->leaves[0] == (*expected)[i]);
    }
  }
  CHECK(fake.breaches() == std::vector<std::string>());
  CHECK(fake.calls().size() == 2);
  CHECK(fake.alive() == 0);
}

}  // namespace
}  // namespace hlo::gpu
