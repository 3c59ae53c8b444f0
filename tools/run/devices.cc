#include "tools/run/devices.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "lib/ir/any_instruction.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "tools/support/random_arguments.h"
#include "tools/support/runnable.h"

namespace hlo {
namespace {

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Whether its value, or that it is computed at all, is another one on another device.
bool TellsDevicesApart(const Instruction& instruction) {
  constexpr OpcodeSet kOthers = {Opcode::kReplicaId, Opcode::kPartitionId, Opcode::kSend,
                                 Opcode::kRecv,      Opcode::kInfeed,      Opcode::kOutfeed};
  return HasTrait(instruction.opcode(), kCollective) || kOthers.Has(instruction.opcode());
}

}  // namespace

std::pair<int64_t, std::string_view> SplitDevice(std::string_view word) {
  const size_t colon = word.find_first_not_of("0123456789");
  if (colon == 0 || colon > 9 || colon == std::string_view::npos || word[colon] != ':')
    return {-1, word};
  return {std::stoll(std::string(word.substr(0, colon))), word.substr(colon + 1)};
}

absl::StatusOr<std::vector<std::string>> WordsOf(const std::vector<std::string>& words,
                                                 const DeviceMesh& mesh, int64_t device) {
  std::vector<std::string> own;
  for (const std::string& word : words) {
    const auto [of, value] = SplitDevice(word);
    if (of >= mesh.devices()) {
      return Error("`{}` is an input of device {}, but the run has {} device{}", word, of,
                   mesh.devices(), mesh.devices() == 1 ? "" : "s");
    }
    if (of < 0 || of == device) own.emplace_back(value);
  }
  return own;
}

absl::Status SetDevices(Module& module, int64_t replicas, int64_t partitions) {
  if (replicas == 0 && partitions == 0) return absl::OkStatus();
  ModuleConfig& config = module.config();
  if (replicas > 0) config.replica_count = replicas;
  if (partitions > 0) config.num_partitions = partitions;
  return VerifyRunnable(module);
}

absl::StatusOr<DeviceMesh> ChooseDevices(Module& module, bool is_given) {
  ModuleConfig& config = module.config();
  int64_t devices;
  const bool is_too_much =
      __builtin_mul_overflow(config.replica_count, config.num_partitions, &devices);
  if (devices != 1 && !is_given && !AnyInstruction(module, TellsDevicesApart))
    config.replica_count = config.num_partitions = devices = 1;
  else if (is_too_much || devices < 1 || devices > kMostRunDevices)
    return Unsupported(SourceLoc(),
                       "module `{}` runs on {} replicas of {} partitions; at most {} devices can "
                       "be run here (--num-replicas, --num-partitions)",
                       module.name(), config.replica_count, config.num_partitions, kMostRunDevices);
  return DeviceMesh{config.replica_count, config.num_partitions};
}

std::string DeviceName(const DeviceMesh& mesh, int64_t device) {
  if (mesh.replicas == 1 || mesh.partitions == 1) return fmt::format("device {}", device);
  return fmt::format("device {} (replica {}, partition {})", device, device / mesh.partitions,
                     device % mesh.partitions);
}

std::string DeviceHeading(const DeviceMesh& mesh, int64_t device) {
  return mesh.devices() == 1 ? "" : fmt::format("// {}\n", DeviceName(mesh, device));
}

std::string DeviceFolder(const std::string& directory, const DeviceMesh& mesh, int64_t device) {
  return mesh.devices() == 1 ? directory : fmt::format("{}/device{}", directory, device);
}

std::string DeviceFile(const std::string& path, const DeviceMesh& mesh, int64_t device) {
  if (mesh.devices() == 1) return path;
  const std::string end = std::filesystem::path(path).extension().string();
  return fmt::format("{}.device{}{}", path.substr(0, path.size() - end.size()), device, end);
}

absl::StatusOr<std::string> FolderToRead(const std::string& directory, const DeviceMesh& mesh,
                                         int64_t device) {
  const auto has_folder_of = [&](int64_t other) {
    return IsFolder(fmt::format("{}/device{}", directory, other));
  };
  std::error_code ignored;
  const std::string file = DeviceFile(directory, mesh, device);
  if (!directory.empty() && !std::filesystem::exists(directory, ignored) &&
      std::filesystem::exists(file, ignored))
    return file;
  if (directory.empty() || (!has_folder_of(0) && !has_folder_of(device))) return directory;
  if (has_folder_of(mesh.devices())) {
    return Error("`{}/device{}` is of one device more than the run has: {}", directory,
                 mesh.devices(), mesh.devices());
  }
  std::string folder = fmt::format("{}/device{}", directory, device);
  if (has_folder_of(device)) return folder;
  return Error("`{}` has a folder for device 0, but none for {} (`{}`)", directory,
               DeviceName(mesh, device), folder);
}

absl::StatusOr<DeviceArguments> MakeDeviceArguments(const Module& module,
                                                    const InputSources& sources,
                                                    const DeviceMesh& mesh, bool share_made) {
  DeviceArguments result;
  InputSources before;
  bool was_made = false;
  for (int64_t device = 0; device < mesh.devices(); ++device) {
    InputSources own = sources;
    ASSIGN_OR_RETURN(own.words, WordsOf(sources.words, mesh, device));
    ASSIGN_OR_RETURN(own.directory, FolderToRead(sources.directory, mesh, device));
    const bool is_alike = own.words == before.words && own.directory == before.directory;
    if (device > 0 && is_alike && (share_made || !was_made)) {
      result.values.push_back(result.values.back());
      continue;
    }
    before = own;
    const bool has_recorded = sources.words.empty() && !sources.recorded.empty();
    const bool makes_missing = (sources.words.empty() && !has_recorded) || sources.seed.has_value();
    if (makes_missing && !share_made)
      own.seed = sources.seed.value_or(kDefaultSeed) + static_cast<uint64_t>(device);
    if (!makes_missing && !has_recorded && own.words.empty() &&
        module.entry()->parameter_count() > 0) {
      return Error("there are inputs of other devices, but none for {} (--seed=N makes them)",
                   DeviceName(mesh, device));
    }
    absl::StatusOr<Arguments> arguments = MakeArguments(module, own);
    if (!arguments.ok()) {
      return mesh.devices() == 1 ? arguments.status()
                                 : AddPrefix(arguments.status(), DeviceName(mesh, device));
    }
    was_made = !arguments->notes.empty();
    if (result.notes.empty()) result.notes = std::move(arguments->notes);
    result.values.push_back(std::move(arguments->values));
  }
  if (mesh.devices() > 1 && !share_made && was_made)
    result.notes.push_back("device N's are made from the seed plus N (--shared-inputs: all alike)");
  return result;
}

absl::StatusOr<std::unique_ptr<DeviceStates>> DeviceStates::Make(
    const Executable& executable, absl::Span<const std::vector<Literal>> arguments_by_device,
    const DeviceMesh& mesh, const RunOptions& options, const DeviceLimits& limits) {
  std::unique_ptr<DeviceStates> states(new DeviceStates(executable.module(), mesh, limits));
  const std::vector<int64_t> own = states->threads_.own();
  if (!own.empty()) states->first_ = own.front();
  for (const int64_t device : own) {
    ASSIGN_OR_RETURN(states->states_.emplace_back(),
                     executable.Prepare(arguments_by_device[static_cast<size_t>(device)],
                                        states->threads_.OptionsOf(device, options)));
  }
  return states;
}

absl::StatusOr<bool> DeviceStates::RunMany(int64_t runs) {
  if (states_.size() != 1) return false;
  return states_[0]->RunMany(runs);
}

absl::Status DeviceStates::Renew() {
  for (const std::unique_ptr<ExecutionState>& state : states_) RETURN_IF_ERROR(state->Renew());
  return absl::OkStatus();
}

absl::Status DeviceStates::Run() {
  return Run([](size_t, ExecutionState& state) { return state.Run(); });
}

absl::Status DeviceStates::Run(const RunState& run) {
  return threads_.Run([&](int64_t device) {
    return run(static_cast<size_t>(device), *states_[static_cast<size_t>(device - first_)]);
  });
}

absl::StatusOr<std::vector<Literal>> DeviceStates::Results() {
  std::vector<Literal> results;
  for (const std::unique_ptr<ExecutionState>& state : states_) {
    ASSIGN_OR_RETURN(results.emplace_back(), state->Result());
  }
  if (distributed_ != nullptr) return distributed_->Gather(results);
  return results;
}

}  // namespace hlo
