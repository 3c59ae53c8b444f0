// Immutable text that its copies share: 8 bytes, copied and compared without touching the
// characters. For names of the source program, which thousands of instructions repeat.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hlo {

class SharedText {
 public:
  SharedText() = default;
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, SharedText> &&
           std::convertible_to<const T&, std::string_view>) SharedText(const T& text)
      : block_(Block::Make(text)) {}
  SharedText(const SharedText& other) : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  SharedText(SharedText&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedText() {
    if (block_ != nullptr) Block::Drop(block_);
  }

  std::string_view view() const {
    return block_ == nullptr ? std::string_view() : std::string_view(block_->chars(), block_->size);
  }
  operator std::string_view() const { return view(); }
  bool empty() const { return block_ == nullptr; }
  void clear() { *this = SharedText(); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.block_ == b.block_ || a.view() == b.view();
  }
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, SharedText> &&
           std::convertible_to<const T&, std::string_view>) friend bool
  operator==(const SharedText& a, const T& b) {
    return a.view() == std::string_view(b);
  }

 private:
  // The characters stand after it. There is none for the empty text.
  struct Block {
    std::atomic<uint32_t> references{1};
    size_t size = 0;
    char* chars() { return reinterpret_cast<char*>(this + 1); }
    static Block* Make(std::string_view text) {
      if (text.empty()) return nullptr;
      auto* block = new (::operator new(sizeof(Block) + text.size())) Block;
      block->size = text.size();
      std::memcpy(block->chars(), text.data(), text.size());
      return block;
    }
    static void Drop(Block* block) {
      if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      block->~Block();
      ::operator delete(block);
    }
  };
  Block* block_ = nullptr;
};

}  // namespace hlo
