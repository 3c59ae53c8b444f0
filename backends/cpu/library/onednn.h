// backends/cpu/library/onednn.h
//
// oneDNN 2.x behind a small wrapper: the only files that know its interface are those that include
// this. Its parallel regions run on our pool (omp_shim.h). Internal to this folder.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/library/host.h"
#include "lib/support/thread_pool.h"

namespace hlo::cpu::onednn {

// The CPU engine of the process.
dnnl_engine_t Engine();

// Keeps oneDNN to the instruction sets of `host`. It can be told once per process, before its first
// primitive; later calls with another level have no effect.
void LimitIsa(const Host& host);

// OK, or Internal with the name of what failed.
absl::Status Check(dnnl_status_t status, const char* what);

// A plain memory descriptor.
absl::StatusOr<dnnl_memory_desc_t> Strided(absl::Span<const int64_t> sizes,
                                           absl::Span<const int64_t> strides,
                                           dnnl_data_type_t type);
// A descriptor whose layout oneDNN may choose.
absl::StatusOr<dnnl_memory_desc_t> AnyLayout(absl::Span<const int64_t> sizes,
                                             dnnl_data_type_t type);

// The memory objects and the stream of a primitive's runs, for one run at a time.
class Arguments final {
 public:
  Arguments() = default;
  ~Arguments();
  Arguments(Arguments&& other) noexcept { *this = std::move(other); }
  Arguments& operator=(Arguments&& other) noexcept;

 private:
  friend class Primitive;
  std::vector<dnnl_exec_arg_t> list_;  // the last one is the scratchpad
  dnnl_stream_t stream_ = nullptr;
};

// A compiled operation. Several threads may run it, each with arguments of its own.
class Primitive final {
 public:
  // `op` is one of oneDNN's operation descriptors. Null if oneDNN has no implementation but the
  // slow reference one. `hint` is the forward operation of a backward one.
  static absl::StatusOr<std::unique_ptr<Primitive>> Create(const_dnnl_op_desc_t op, int threads,
                                                           const_dnnl_op_desc_t hint = nullptr);
  // Copies between layouts.
  static absl::StatusOr<std::unique_ptr<Primitive>> CreateReorder(const dnnl_memory_desc_t& from,
                                                                  const dnnl_memory_desc_t& to,
                                                                  int threads);
  ~Primitive();
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  // The layout the implementation wants for an argument: dnnl_query_src_md, ….
  dnnl_memory_desc_t Layout(dnnl_query_t which) const;

  // Names an argument that each run will give; in the order of the pointers given to Run.
  void AddArgument(int id, const dnnl_memory_desc_t& layout) { layouts_.emplace_back(id, layout); }
  // After the last one was added.
  absl::StatusOr<Arguments> MakeArguments() const;

  int64_t scratch_bytes() const;
  const std::string& implementation() const { return implementation_; }

  // Runs on `pool`; `pointers` are the arguments, in the order they were added.
  absl::Status Run(Arguments& arguments, absl::Span<void* const> pointers, void* scratch,
                   ThreadPool& pool) const;

 private:
  explicit Primitive(dnnl_primitive_desc_t descriptor) : descriptor_(descriptor) {}
  static absl::StatusOr<std::unique_ptr<Primitive>> Finish(dnnl_primitive_desc_t descriptor);

  dnnl_primitive_desc_t descriptor_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  std::string implementation_;
  std::vector<std::pair<int, dnnl_memory_desc_t>> layouts_;  // of arguments
};

}  // namespace hlo::cpu::onednn
