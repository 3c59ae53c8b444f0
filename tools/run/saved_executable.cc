#include "tools/run/saved_executable.h"

#include "lib/support/byte_count.h"
#include "lib/support/file.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

// What a file that was compiled cannot give any more.
absl::Status RefuseFlags(const SavedExecutable& saved, const ToolOptions& options) {
  const std::pair<std::string_view, bool> impossible[] = {
      {"passes", !options.passes.empty()},
      {"save-executable", !options.save_executable.empty()},
      {"sanitize", options.sanitize && saved.code != nullptr},
      {"num-replicas", options.num_replicas > 0},
      {"num-partitions", options.num_partitions > 0},
      {"spmd", options.spmd},
      {"single-shard", !options.single_shard.empty()},
      {"fill-elided", !options.fill_elided.empty()},
  };
  for (const auto& [flag, is_given] : impossible) {
    if (is_given) {
      return Error("it is an executable, for which `--{}` comes too late; run the module itself",
                   flag);
    }
  }
  struct Choice {
    std::string_view flag;
    std::string given, saved;
  };
  const std::string_view mode = saved.denormals == Denormals::kFlush ? "flush" : "keep";
  const Choice choices[] = {
      {"platform", options.platform_is_given ? options.platform : "", saved.platform},
      {"cpu-features", options.cpu_features, saved.cpu_features},
      {"target", options.gpu.target, saved.gpu_target},
      {"denormals", options.denormals, std::string(mode)},
  };
  for (const Choice& choice : choices) {
    if (choice.given.empty() || choice.given == choice.saved) continue;
    return Error("it was compiled {}, not with `--{}={}`",
                 choice.saved.empty() ? fmt::format("without `--{}`", choice.flag)
                                      : fmt::format("with `--{}={}`", choice.flag, choice.saved),
                 choice.flag, choice.given);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SavedExecutable> OpenSaved(std::string_view bytes, ToolOptions& options) {
  ASSIGN_OR_RETURN(SavedExecutable saved, UnpackExecutable(bytes));
  RETURN_IF_ERROR(RefuseFlags(saved, options));
  options.platform = saved.platform;
  options.cpu_features = saved.cpu_features;
  options.gpu.target = saved.gpu_target;
  options.denormal_mode = saved.denormals;
  options.run_passes = false;
  return saved;
}

absl::StatusOr<std::string> SaveExecutable(const Executable& executable, const Backend& backend,
                                           const CompileOptions& options, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, PackExecutable(executable, backend, options));
  RETURN_IF_ERROR(WriteFile(path, bytes));
  size_t functions = 0;
  for (const CodeStore::Object& object : options.code_store->objects())
    functions += object.functions.size();
  ASSIGN_OR_RETURN(const std::string target, backend.CodeTarget(options));
  if (target.empty()) {
    return fmt::format(
        "{}: {}, for platform `{}`: the module after its passes; it keeps no machine code\n", path,
        ByteCountText(static_cast<int64_t>(bytes.size())), backend.name());
  }
  return fmt::format("{}: {}, for platform `{}`, {} function{}\n", path,
                     ByteCountText(static_cast<int64_t>(bytes.size())), backend.name(), functions,
                     functions == 1 ? "" : "s");
}

}  // namespace hlo
