"""Stand-ins with the interface that PyTorch Geometric documents of FeatureStore and GraphStore: public calls cast their arguments to
attributes and hand them to the methods that a subclass writes. Written from the documentation of version 2.6."""
import enum
from abc import ABC, abstractmethod


class TensorAttr:
    def __init__(self, group_name=None, attr_name=None, index=None):
        self.group_name, self.attr_name, self.index = group_name, attr_name, index


class EdgeLayout(enum.Enum):
    COO = "coo"
    CSC = "csc"
    CSR = "csr"


class EdgeAttr:
    def __init__(self, edge_type, layout, is_sorted=False, size=None):
        self.edge_type, self.layout, self.size = edge_type, EdgeLayout(layout), size
        if self.layout == EdgeLayout.CSR and is_sorted:
            raise ValueError("a CSR layout cannot be sorted by target")
        self.is_sorted = is_sorted or self.layout == EdgeLayout.CSC


class FeatureStore(ABC):
    def __init__(self, tensor_attr_cls=None):
        self.__dict__["_tensor_attr_cls"] = tensor_attr_cls or TensorAttr

    def get_tensor(self, *args, **kwargs):
        return self._get_tensor(TensorAttr(*args, **kwargs))

    def get_tensor_size(self, *args, **kwargs):
        return self._get_tensor_size(TensorAttr(*args, **kwargs))

    def put_tensor(self, tensor, *args, **kwargs):
        return self._put_tensor(tensor, TensorAttr(*args, **kwargs))

    @abstractmethod
    def _get_tensor(self, attr): ...

    @abstractmethod
    def _put_tensor(self, tensor, attr): ...

    @abstractmethod
    def _remove_tensor(self, attr): ...

    @abstractmethod
    def _get_tensor_size(self, attr): ...

    @abstractmethod
    def get_all_tensor_attrs(self): ...


class GraphStore(ABC):
    def __init__(self, edge_attr_cls=None):
        self.__dict__["_edge_attr_cls"] = edge_attr_cls or EdgeAttr

    def get_edge_index(self, *args, **kwargs):
        found = self._get_edge_index(EdgeAttr(*args, **kwargs))
        if found is None:
            raise KeyError("there is no such edge index")
        return found

    @abstractmethod
    def _get_edge_index(self, edge_attr): ...

    @abstractmethod
    def _put_edge_index(self, edge_index, edge_attr): ...

    @abstractmethod
    def _remove_edge_index(self, edge_attr): ...

    @abstractmethod
    def get_all_edge_attrs(self): ...
