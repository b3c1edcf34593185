const three = () => 3;
