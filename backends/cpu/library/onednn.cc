#include "backends/cpu/library/onednn.h"

#include <algorithm>

#include "backends/cpu/library/omp_shim.h"
#include "lib/support/status.h"

namespace hlo::cpu::onednn {
namespace {

dnnl_cpu_isa_t IsaOf(const Host& host) {
  switch (host.level) {
    case IsaLevel::kSse: return dnnl_cpu_isa_sse41;
    case IsaLevel::kAvx2: return dnnl_cpu_isa_avx2;
    case IsaLevel::kAvx512:
      if (host.avx512_bf16 && host.avx512_vnni) return dnnl_cpu_isa_avx512_core_bf16;
      return host.avx512_vnni ? dnnl_cpu_isa_avx512_core_vnni : dnnl_cpu_isa_avx512_core;
    case IsaLevel::kAmx: return dnnl_cpu_isa_avx512_core_amx;
  }
  return dnnl_cpu_isa_all;
}

// Attributes of an operation: a scratchpad of the user.
class AttrHolder final {
 public:
  ~AttrHolder() {
    if (attr_ != nullptr) dnnl_primitive_attr_destroy(attr_);
  }
  absl::Status Init() {
    RETURN_IF_ERROR(Check(dnnl_primitive_attr_create(&attr_), "attributes"));
    return Check(dnnl_primitive_attr_set_scratchpad_mode(attr_, dnnl_scratchpad_mode_user),
                 "scratchpad");
  }
  const_dnnl_primitive_attr_t get() const { return attr_; }

 private:
  dnnl_primitive_attr_t attr_ = nullptr;
};

}  // namespace

dnnl_engine_t Engine() {
  static dnnl_engine_t engine = [] {
    dnnl_engine_t made = nullptr;
    dnnl_engine_create(&made, dnnl_cpu, 0);
    return made;
  }();
  return engine;
}

void LimitIsa(const Host& host) {
  static std::once_flag once;
  std::call_once(once, [&] { static_cast<void>(dnnl_set_max_cpu_isa(IsaOf(host))); });
}

absl::Status Check(dnnl_status_t status, const char* what) {
  RET_CHECK(status == dnnl_success, "oneDNN failed at {} with code {}", what,
            static_cast<int>(status));
  return absl::OkStatus();
}

absl::StatusOr<dnnl_memory_desc_t> Strided(absl::Span<const int64_t> sizes,
                                           absl::Span<const int64_t> strides,
                                           dnnl_data_type_t type) {
  dnnl_dims_t size_array = {}, stride_array = {};
  std::copy(sizes.begin(), sizes.end(), size_array);
  std::copy(strides.begin(), strides.end(), stride_array);
  dnnl_memory_desc_t desc;
  RETURN_IF_ERROR(Check(dnnl_memory_desc_init_by_strides(&desc, static_cast<int>(sizes.size()),
                                                         size_array, type, stride_array),
                        "a strided layout"));
  return desc;
}

absl::StatusOr<dnnl_memory_desc_t> AnyLayout(absl::Span<const int64_t> sizes,
                                             dnnl_data_type_t type) {
  dnnl_dims_t size_array = {};
  std::copy(sizes.begin(), sizes.end(), size_array);
  dnnl_memory_desc_t desc;
  RETURN_IF_ERROR(Check(dnnl_memory_desc_init_by_tag(&desc, static_cast<int>(sizes.size()),
                                                     size_array, type, dnnl_format_tag_any),
                        "a free layout"));
  return desc;
}

absl::StatusOr<std::unique_ptr<Primitive>> Primitive::Create(const_dnnl_op_desc_t op, int threads,
                                                             const_dnnl_op_desc_t hint) {
  ScopedOmpThreads scope(threads);
  AttrHolder attr;
  RETURN_IF_ERROR(attr.Init());
  dnnl_primitive_desc_t forward = nullptr;
  if (hint != nullptr &&
      dnnl_primitive_desc_create(&forward, hint, nullptr, Engine(), nullptr) != dnnl_success) {
    return std::unique_ptr<Primitive>();
  }
  dnnl_primitive_desc_t descriptor = nullptr;
  const dnnl_status_t status =
      dnnl_primitive_desc_create(&descriptor, op, attr.get(), Engine(), forward);
  if (forward != nullptr) dnnl_primitive_desc_destroy(forward);
  if (status != dnnl_success) return std::unique_ptr<Primitive>();
  const char* name = nullptr;
  dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
  if (name == nullptr || std::string_view(name).find("ref") != std::string_view::npos) {
    dnnl_primitive_desc_destroy(descriptor);
    return std::unique_ptr<Primitive>();
  }
  return Finish(descriptor);
}

absl::StatusOr<std::unique_ptr<Primitive>> Primitive::CreateReorder(const dnnl_memory_desc_t& from,
                                                                    const dnnl_memory_desc_t& to,
                                                                    int threads) {
  ScopedOmpThreads scope(threads);
  AttrHolder attr;
  RETURN_IF_ERROR(attr.Init());
  dnnl_primitive_desc_t descriptor = nullptr;
  RETURN_IF_ERROR(Check(
      dnnl_reorder_primitive_desc_create(&descriptor, &from, Engine(), &to, Engine(), attr.get()),
      "a reorder"));
  ASSIGN_OR_RETURN(std::unique_ptr<Primitive> reorder, Finish(descriptor));
  reorder->AddArgument(DNNL_ARG_FROM, from);
  reorder->AddArgument(DNNL_ARG_TO, to);
  return reorder;
}

absl::StatusOr<std::unique_ptr<Primitive>> Primitive::Finish(dnnl_primitive_desc_t descriptor) {
  std::unique_ptr<Primitive> made(new Primitive(descriptor));
  const char* name = nullptr;
  dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
  if (name != nullptr) made->implementation_ = name;
  RETURN_IF_ERROR(Check(dnnl_primitive_create(&made->primitive_, descriptor), "a primitive"));
  return made;
}

Arguments::~Arguments() {
  for (const dnnl_exec_arg_t& argument : list_) dnnl_memory_destroy(argument.memory);
  if (stream_ != nullptr) dnnl_stream_destroy(stream_);
}

Arguments& Arguments::operator=(Arguments&& other) noexcept {
  std::swap(list_, other.list_);
  std::swap(stream_, other.stream_);
  return *this;
}

Primitive::~Primitive() {
  if (primitive_ != nullptr) dnnl_primitive_destroy(primitive_);
  dnnl_primitive_desc_destroy(descriptor_);
}

dnnl_memory_desc_t Primitive::Layout(dnnl_query_t which) const {
  const dnnl_memory_desc_t* layout = dnnl_primitive_desc_query_md(descriptor_, which, 0);
  return layout == nullptr ? dnnl_memory_desc_t{} : *layout;
}

absl::StatusOr<Arguments> Primitive::MakeArguments() const {
  Arguments made;
  const auto add = [&made](int id, const dnnl_memory_desc_t& layout) {
    dnnl_memory_t memory = nullptr;
    RETURN_IF_ERROR(
        Check(dnnl_memory_create(&memory, &layout, Engine(), DNNL_MEMORY_NONE), "a memory object"));
    made.list_.push_back({id, memory});
    return absl::OkStatus();
  };
  for (const auto& [id, layout] : layouts_) RETURN_IF_ERROR(add(id, layout));
  RETURN_IF_ERROR(add(DNNL_ARG_SCRATCHPAD, Layout(dnnl_query_scratchpad_md)));
  RETURN_IF_ERROR(
      Check(dnnl_stream_create(&made.stream_, Engine(), dnnl_stream_default_flags), "a stream"));
  return made;
}

int64_t Primitive::scratch_bytes() const {
  const dnnl_memory_desc_t layout = Layout(dnnl_query_scratchpad_md);
  return static_cast<int64_t>(dnnl_memory_desc_get_size(&layout));
}

absl::Status Primitive::Run(Arguments& arguments, absl::Span<void* const> pointers, void* scratch,
                            ThreadPool& pool) const {
  const std::vector<dnnl_exec_arg_t>& list = arguments.list_;
  RET_CHECK(pointers.size() + 1 == list.size(), "{} arguments for a primitive of {}",
            pointers.size(), layouts_.size());
  ScopedOmpPool omp(pool);
  for (size_t i = 0; i < list.size(); ++i) {
    void* const pointer = i < pointers.size() ? pointers[i] : scratch;
    RETURN_IF_ERROR(Check(dnnl_memory_set_data_handle(list[i].memory, pointer), "an argument"));
  }
  return Check(dnnl_primitive_execute(primitive_, arguments.stream_, static_cast<int>(list.size()),
                                      list.data()),
               "execution");
}

}  // namespace hlo::cpu::onednn
