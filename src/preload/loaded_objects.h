// SPDX-License-Identifier: Apache-2.0
//
// The objects that the process has loaded: the program and its shared
// libraries, and what they define, read from their ELF tables. dlsym, dlopen
// and dladdr take the lock that a thread holds while it runs constructors, and
// a constructor may wait for another thread's HIP call. This takes only the
// lock of the list of objects (dl_iterate_phdr), which nobody keeps.
#ifndef HIP_STREAM_POOL_SRC_PRELOAD_LOADED_OBJECTS_H_
#define HIP_STREAM_POOL_SRC_PRELOAD_LOADED_OBJECTS_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace hip_stream_pool {

// The functions that this library has of HIP's.
enum Function {
  kStreamCreate,
  kStreamCreateWithFlags,
  kStreamCreateWithPriority,
  kStreamDestroy,
  kDeviceReset,
  kFunctions,
};
extern const char* const kFunctionNames[kFunctions];

struct LoadedObject {
  LoadedObject() = default;
  explicit LoadedObject(const dl_phdr_info& info);

  bool Contains(const void* address) const {
    return address >= begin && address < end;
  }
  // The function of that name; nullptr if there is none to link to. A variable
  // is not a function.
  void* Find(const char* name) const;
  // Whether a DT_NEEDED entry of that name means this object.
  bool IsNamed(const char* name) const;
  // Whether the loader has bound a reference of this object's to one of HIP's
  // names, and to the other object.
  bool IsBoundTo(const LoadedObject& other) const;

  const char* path = "";  // the program's is empty
  uintptr_t base = 0;
  const void* begin = nullptr;
  const void* end = nullptr;
  bool is_hip = false;  // a libamdhip64, by the name of its file

  const ElfW(Dyn) * dynamic = nullptr;
  const char* strings = nullptr;
  const char* soname = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Half) * versions = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* hash = nullptr;
  struct Relocations {
    const ElfW(Rela) * begin = nullptr;
    size_t bytes = 0;
  } relocations[2];

  void* functions[kFunctions] = {};  // what it defines
  // What its own calls reach, where that was found out (definitions.cc).
  LoadedObject* reached[kFunctions] = {};
};

class LoadedObjects {
 public:
  // Calls `use` with the objects as they are now. Nothing is loaded or unloaded
  // meanwhile, and no other thread is in here.
  template <typename Use>
  static void With(Use use) {
    Visit([](LoadedObjects& objects,
             void* data) { (*static_cast<Use*>(data))(objects); },
          &use);
  }

  LoadedObject* begin() { return objects_; }
  LoadedObject* end() { return objects_ + count_; }
  // This library.
  LoadedObject* self() { return objects_ + self_; }
  // The program was started with the objects before startup_end(). The loader
  // looks at them in this order.
  LoadedObject* startup_end() { return objects_ + startup_count_; }

  // Of the objects behind this library, which define the function.
  struct Definers {
    int count = 0;
    LoadedObject* first = nullptr;
    LoadedObject* last = nullptr;
  };
  const Definers& DefinersOf(Function function) const {
    return definers_[function];
  }

  LoadedObject* At(const void* address);
  int CountHips() const { return hips_; }
  // Changes when something is loaded or unloaded.
  uint64_t loads() const { return loads_; }
  uint64_t unloads() const { return unloads_; }

  // The first that defines the function, of `root` and what it needs, in the
  // loader's order. nullptr if there is none, or `member` is not among them.
  LoadedObject* FindInGroup(LoadedObject* root, const LoadedObject* member,
                            Function function);

 private:
  // More than a program has. The rest is not seen.
  static constexpr int kMost = 4096;

  static void Visit(void (*use)(LoadedObjects&, void*), void* data);
  void Refresh(const dl_phdr_info& now);

  LoadedObject objects_[kMost];
  LoadedObject* group_[kMost];
  bool is_in_group_[kMost];
  int count_ = 0;
  int startup_count_ = 0;
  int self_ = 0;
  Definers definers_[kFunctions];
  int hips_ = 0;
  uint64_t loads_ = 0;
  uint64_t unloads_ = 0;
};

}  // namespace hip_stream_pool

#endif  // HIP_STREAM_POOL_SRC_PRELOAD_LOADED_OBJECTS_H_
