// Saved executables: a module as a platform's passes left it, with the machine code of its kernels,
// so that a later process runs it without passes and code generation.
//
//   CodeStore code;                                        // save
//   options.code_store = &code;
//   ASSIGN_OR_RETURN(auto executable, backend->Compile(std::move(module), options));
//   ASSIGN_OR_RETURN(std::string bytes, PackExecutable(*executable, *backend, options));
//
//   ASSIGN_OR_RETURN(SavedExecutable saved, UnpackExecutable(bytes));            // load
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseModule(saved.text, path));
//   saved.Restore(*module);
//   saved.SetOptions(options);
//   ASSIGN_OR_RETURN(auto executable, backend->Compile(std::move(module), options));
//
// A file is right for programs of the version that wrote it (hash of the code generator), and for
// processors like the one it was made for. Platforms that keep no code (Backend::CodeTarget) save
// the module alone: its kernels are compiled when it is loaded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/common/code_store.h"

namespace hlo {

struct SavedExecutable {
  std::string platform;
  std::string cpu_features;  // mask that it was compiled with
  std::string gpu_target;
  Denormals denormals = Denormals::kKeep;
  std::string_view text;  // of the module, in the bytes that were unpacked
  std::unique_ptr<CodeStore> code;
  // What a text does not say: the streams of its random numbers (RngAttrs), by name.
  absl::flat_hash_map<std::string, int64_t> streams;

  void Restore(Module& module) const;
  // What a compilation of the module needs to become the saved one. `options` must not outlive
  // this.
  void SetOptions(CompileOptions& options) const;
};

// The executable that `backend` made with `options`, whose store has its code.
absl::StatusOr<std::string> PackExecutable(const Executable& executable, const Backend& backend,
                                           const CompileOptions& options);
// Refuses what another version wrote, or what is for another processor.
absl::StatusOr<SavedExecutable> UnpackExecutable(std::string_view bytes);

}  // namespace hlo
