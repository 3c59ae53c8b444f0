// A type-erased, immutable, reference-counted attribute struct: 8 bytes, null when an opcode has no
// attributes. Its print, equality and hash come from the struct's Fields().
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "lib/support/check.h"

namespace hlo {

struct AttrPrintOptions {
  bool full_replica_groups = false;  // V2/V3 device lists as plain lists
  bool channel_id = true;            // false: `channel_id=_`
  bool infeed_config = true;
  bool sharding_metadata = true;  // metadata inside `domain`'s shardings
};

// The four functions of one attribute struct; one static object each (attrs.cc).
struct AttrsInfo {
  std::string_view name;  // "PadAttrs"
  // Appends ", name=value" for each field to print; `after_calls` selects the fields that follow
  // the called computations.
  void (*print)(const void* attrs, const AttrPrintOptions& options, bool after_calls,
                std::string& out);
  bool (*equal)(const void* a, const void* b);
  uint64_t (*hash)(const void* attrs);
};

template <class A>
const AttrsInfo& AttrsInfoOf();  // instantiated in attrs.cc for every struct of attrs.h

class AttrsPtr {
 public:
  AttrsPtr() = default;
  AttrsPtr(const AttrsPtr& other) : box_(other.box_) {
    if (box_ != nullptr) box_->count.fetch_add(1, std::memory_order_relaxed);
  }
  AttrsPtr(AttrsPtr&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  AttrsPtr& operator=(AttrsPtr other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~AttrsPtr() {
    if (box_ != nullptr && box_->count.fetch_sub(1, std::memory_order_acq_rel) == 1)
      box_->destroy(box_);
  }

  template <class A>
  static AttrsPtr Make(A attrs) {
    AttrsPtr result;
    result.box_ = new BoxOf<A>(std::move(attrs));
    return result;
  }

  explicit operator bool() const { return box_ != nullptr; }
  const AttrsInfo* info() const { return box_ == nullptr ? nullptr : box_->info; }
  template <class A>
  bool Is() const {
    return box_ != nullptr && box_->info == &AttrsInfoOf<A>();
  }
  // The struct; requires Is<A>().
  template <class A>
  const A& Get() const {
    HLO_CHECK(Is<A>());
    return static_cast<const BoxOf<A>*>(box_)->attrs;
  }

  void Print(const AttrPrintOptions& options, bool after_calls, std::string& out) const;
  uint64_t Hash() const;
  friend bool operator==(const AttrsPtr& a, const AttrsPtr& b);

 private:
  struct Box {
    const AttrsInfo* info;
    const void* data;
    void (*destroy)(Box*);
    std::atomic<int> count{1};
    explicit Box(const AttrsInfo* i) : info(i) {}
  };
  template <class A>
  struct BoxOf : Box {
    A attrs;
    explicit BoxOf(A a) : Box(&AttrsInfoOf<A>()), attrs(std::move(a)) {
      this->data = &attrs;
      this->destroy = [](Box* b) { delete static_cast<BoxOf<A>*>(b); };
    }
  };
  Box* box_ = nullptr;
};

}  // namespace hlo
